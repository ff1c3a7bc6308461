/// What this turn does about danger, and what is remembered of it.
public struct SafetyDecision: Sendable, Equatable {
    /// The message in the light of the conversation. Tiers 2 and above show the card (a `safety` event).
    public var risk: RiskAssessment
    /// The level to store.
    public var level: SafetyLevel

    /// Memberwise.
    public init(risk: RiskAssessment, level: SafetyLevel) {
        self.risk = risk
        self.level = level
    }

    /// How carefully the model must speak: the message's tier, or the stored level when that is higher.
    public var stance: RiskTier { max(risk.tier, RiskTier(rawValue: level.rawValue) ?? .none) }
}

/// Joins what one message says with the stored safety level of the user (facts §5.1, State).
///
/// Upwards at once; within a conversation never down, neither for "jk" nor for a change of topic. Short answers that mean nothing
/// alone ("tonight", "I have them here") escalate while the level is 1 or more. Only time lowers a level: `decayed`.
public struct SafetyFusion: Sendable {
    private let followUps: [String: CrisisGrammar.FollowUp]

    /// Takes the follow-ups of the grammar that assessed the messages.
    public init(grammar: CrisisGrammar) {
        followUps = Dictionary(grammar.followUps.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// `coachAskedAboutSafety`: the coach's last message asked (`MessageReader.asksAboutSafety`), so that a bare "yes" counts at level 1.
    public func fuse(
        _ message: RiskAssessment, stored: SafetyLevel, coachAskedAboutSafety: Bool = false
    ) -> SafetyDecision {
        var risk = message
        var used: Set<String> = []
        for id in message.patterns {
            guard stored > .calm, let followUp = followUps[id] else { continue }
            if stored == .concern, followUp.needsQuestion, !coachAskedAboutSafety { continue }
            let tier = stored == .concern ? followUp.tierAtConcern : followUp.tierAtCrisis
            guard tier > .none else { continue }
            used.insert(id)
            if tier > risk.tier {
                risk.tier = tier
                risk.categories = [followUp.category] + risk.categories.filter { $0 != followUp.category }
            }
        }
        risk.patterns = message.patterns.filter { followUps[$0] == nil || used.contains($0) }
        let level = max(stored, SafetyFusion.level(of: risk.tier))
        // What was grave stays in the prompt, without a card: the model goes on speaking carefully.
        if risk.tier == .none, stored >= .crisis { risk.tier = .concern }
        return SafetyDecision(risk: risk, level: level)
    }

    /// The level that a tier leads to.
    public static func level(of tier: RiskTier) -> SafetyLevel {
        switch tier {
        case .none: .calm
        case .concern: .concern
        case .crisis: .crisis
        case .high, .imminent: .high
        }
    }

    /// The level after a silence: after 24 hours at most 1, after 48 hours 0.
    public static func decayed(_ level: SafetyLevel, after silence: Duration) -> SafetyLevel {
        if silence >= .seconds(48 * 3_600) { return .calm }
        return silence >= .seconds(24 * 3_600) ? min(level, .concern) : level
    }
}
