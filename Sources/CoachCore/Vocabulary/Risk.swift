/// Server tiers of danger (facts: Columbia Protocol order). Signals, never a clinical score.
public enum RiskTier: Int, Comparable, Sendable, CaseIterable {
    /// Nothing found.
    case none = 0
    /// Passive wish, hopelessness, distress: changes the prompt only.
    case concern = 1
    /// Active ideation, self-harm, abuse, eating disorder, psychosis, third party.
    case crisis = 2
    /// Method, plan, means, intent, weapon, coercion with threat.
    case high = 3
    /// In progress: overdose taken, attacker present.
    case imminent = 4

    public static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
}

/// What the danger is about (CONTRACT §4).
public enum RiskCategory: String, Sendable, CaseIterable, Hashable {
    case suicide
    case selfHarm = "self_harm"
    case abuse
    case violence
    case eatingDisorder = "eating_disorder"
    case psychosis
    case substance
}

/// Whom the danger concerns.
public enum RiskSubject: String, Sendable {
    case me = "self"
    case other
    case unclear
}

/// What one message says about danger, before the stored safety state is considered.
public struct RiskAssessment: Sendable, Equatable {
    /// Highest tier found.
    public var tier: RiskTier
    /// Categories found, without repetition, in order of tier.
    public var categories: [RiskCategory]
    /// Whom it concerns.
    public var subject: RiskSubject
    /// Ids of the grammar entries that fired: for the audit row, never the text.
    public var patterns: [String]

    /// Memberwise.
    public init(tier: RiskTier, categories: [RiskCategory], subject: RiskSubject, patterns: [String]) {
        self.tier = tier
        self.categories = categories
        self.subject = subject
        self.patterns = patterns
    }

    /// Nothing found.
    public static let calm = RiskAssessment(tier: .none, categories: [], subject: .unclear, patterns: [])
}

/// The stored state of a user with a persona: 0 calm, 1 concern, 2 crisis, 3 high.
public enum SafetyLevel: Int, Comparable, Sendable {
    case calm = 0, concern, crisis, high
    public static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
}

/// Both readings of a message, made in one pass, in memory, before the database is asked.
public struct MessageAssessment: Sendable, Equatable {
    /// Danger.
    public let risk: RiskAssessment
    /// Topic.
    public let domains: DomainScores

    /// Memberwise.
    public init(risk: RiskAssessment, domains: DomainScores) {
        self.risk = risk
        self.domains = domains
    }
}
