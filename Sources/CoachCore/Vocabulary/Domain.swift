/// The seven coaching domains. Raw values are the database's enum `coaching_domain`; `domains/*.json` hold their content.
public enum Domain: String, CaseIterable, Hashable, Sendable, Codable {
    case lifeCoaching = "life_coaching"
    case careerCoaching = "career_coaching"
    case relationships
    case mindset
    case creativity
    case fitness
    case leadership
}

/// How strongly a text speaks of each domain, before conversation and persona are considered.
/// `scores` are log-odds-like and not normalised; `DomainRouter` turns them into a decision.
public struct DomainScores: Sendable, Equatable {
    /// One score a domain, in the order of `Domain.allCases`.
    public var values: [Float]
    /// The score of "none of the seven".
    public var none: Float
    /// Words in the message; short messages follow the conversation instead of themselves.
    public var wordCount: Int

    /// `values` must have one entry a domain.
    public init(values: [Float], none: Float, wordCount: Int) {
        self.values = values
        self.none = none
        self.wordCount = wordCount
    }
}

extension DomainScores {
    /// Of a message without words.
    public static let silent = DomainScores(values: Array(repeating: 0, count: Domain.allCases.count), none: 0, wordCount: 0)
}

/// Where a turn is routed. `domain` is nil when the router abstains.
public struct DomainDecision: Sendable, Equatable {
    /// Who decided.
    public enum Source: String, Sendable {
        case pinned, persona, message, conversation, abstained
    }
    /// The domain, or nil for the generic prompt.
    public let domain: Domain?
    /// 0…1 in steps of 0.0001, so that it reads the same from the ledger's single-precision column; 1 when pinned.
    public let confidence: Double
    /// Who decided.
    public let source: Source

    /// Rounds the confidence.
    public init(domain: Domain?, confidence: Double, source: Source) {
        self.domain = domain
        self.confidence = (confidence * 10_000).rounded() / 10_000
        self.source = source
    }
}
