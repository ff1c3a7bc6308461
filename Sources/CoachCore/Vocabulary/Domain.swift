/// The seven coaching domains. Raw values are those of the database enum `coaching_domain`; `domains/*.json` have their content.
public enum Domain: String, CaseIterable, Hashable, Sendable {
    case lifeCoaching = "life_coaching"
    case careerCoaching = "career_coaching"
    case relationships
    case mindset
    case creativity
    case fitness
    case leadership
}

/// How well one message fits each domain, as unnormalised logits. `DomainRouter` adds the conversation and the persona.
public struct DomainScores: Sendable, Equatable {
    /// One score per domain, in the order of `Domain.allCases`.
    public var values: [Float]
    /// The score of "no domain".
    public var none: Float
    /// Words in the message. The router keeps the conversation's domain for short messages.
    public var wordCount: Int
    /// Minimum probability of a domain for the message to decide. It belongs to the source of the scores.
    public var minimumProbability: Double

    /// `values` must have one entry per domain.
    public init(
        values: [Float], none: Float, wordCount: Int, minimumProbability: Double = DomainRouter.minimumProbability
    ) {
        self.values = values
        self.none = none
        self.wordCount = wordCount
        self.minimumProbability = minimumProbability
    }
}

extension DomainScores {
    /// Names of what the routing terms say about a message, for the classifiers: each domain with any evidence, strong evidence, or its name.
    var findings: [String] {
        zip(Domain.allCases, values).flatMap { domain, value in
            (1...3).filter { value >= Float($0) }.map { "term.\(domain.rawValue).\($0)" }
        }
    }

    /// One score per domain, then that of "no domain": in the order of `DomainClassifier.outputNames`.
    public var all: [Float] { values + [none] }

    /// The scores of a message without words.
    public static let zero = DomainScores(values: Array(repeating: 0, count: Domain.allCases.count), none: 0, wordCount: 0)
}

/// The domain of a turn, and why.
public struct DomainDecision: Sendable, Equatable {
    /// What determined the domain.
    public enum Source: String, Sendable, CaseIterable {
        case pinned, persona, message, conversation, abstained
    }
    /// nil when the router abstains; the prompt is then the generic one.
    public let domain: Domain?
    /// 0…1, rounded to 0.0001 so that it survives the ledger's single-precision column unchanged. 1 when pinned by client or persona.
    public let confidence: Double
    public let source: Source

    /// Rounds `confidence`.
    public init(domain: Domain?, confidence: Double, source: Source) {
        self.domain = domain
        self.confidence = (confidence * 10_000).rounded() / 10_000
        self.source = source
    }

    /// Without any evidence.
    public static let undecided = DomainDecision(domain: nil, confidence: 0, source: .abstained)
}
