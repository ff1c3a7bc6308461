import JSON

/// Severity of danger, ordered as in the Columbia Protocol (C-SSRS). A signal, never a clinical score.
public enum RiskTier: Int, Comparable, Sendable, CaseIterable {
    /// No danger detected.
    case none = 0
    /// Passive death wish, hopelessness, distress. Changes only the prompt.
    case concern = 1
    /// Active ideation, self-harm, abuse, eating disorder, psychosis, danger of another person.
    case crisis = 2
    /// Method, plan, means, intent, weapon, coercion with threat.
    case high = 3
    /// Happening now: overdose taken, attacker present.
    case imminent = 4

    public static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
}

/// The kind of danger. Raw values are `categories` on the wire (CONTRACT §4).
public enum RiskCategory: String, Sendable, CaseIterable, Hashable {
    case suicide
    case selfHarm = "self_harm"
    case abuse
    case violence
    case eatingDisorder = "eating_disorder"
    case psychosis
    case substance
}

extension RiskCategory: JSONReadable {
    public init(_ json: JSONReader) throws(JSONFinding) { self = try JSONField.choice.read(json) }
}

/// The person in danger.
public enum RiskSubject: String, Sendable, CaseIterable {
    /// The user themself.
    case user = "self"
    /// Another person.
    case other
    case unclear
}

/// The danger found in one message. `SafetyFusion` combines it with the stored safety level.
public struct RiskAssessment: Sendable, Equatable {
    /// Highest tier found.
    public var tier: RiskTier
    /// Categories found, unique, highest tier first.
    public var categories: [RiskCategory]
    public var subject: RiskSubject
    /// Ids of the matched grammar entries and follow-ups. Stored for audit instead of the text.
    public var patterns: [String]
    /// The model's calibrated probability of tier 2 and above, 0…1; nil when no model read the message. Not stored.
    public var score: Float?

    public init(tier: RiskTier, categories: [RiskCategory], subject: RiskSubject, patterns: [String], score: Float? = nil) {
        self.tier = tier
        self.categories = categories
        self.subject = subject
        self.patterns = patterns
        self.score = score
    }

    /// The assessment with the higher tier, with the categories and patterns of both.
    public func merged(with second: RiskAssessment) -> RiskAssessment {
        let (higher, lower) = second.tier > tier ? (second, self) : (self, second)
        var merged = higher
        merged.categories += lower.categories.filter { !higher.categories.contains($0) }
        merged.patterns += lower.patterns.filter { !higher.patterns.contains($0) }
        if higher.subject != .user, lower.subject == .user { merged.subject = .user }
        merged.score = [score, second.score].compactMap(\.self).max()
        return merged
    }

    /// No danger detected.
    public static let calm = RiskAssessment(tier: .none, categories: [], subject: .unclear, patterns: [])
}

/// The stored safety state of a user with a persona. Raw values 0 to 3 are those of the database.
public enum SafetyLevel: Int, Comparable, Sendable, CaseIterable {
    case calm = 0, concern, crisis, high
    public static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
}

/// The result of `MessageAssessor.assess`.
public struct MessageAssessment: Sendable, Equatable {
    public let risk: RiskAssessment
    public let domains: DomainScores

    public init(risk: RiskAssessment, domains: DomainScores) {
        self.risk = risk
        self.domains = domains
    }
}
