/// The effect of a message's risk on a turn, and the safety level to store.
public struct SafetyDecision: Sendable, Equatable {
    /// The message's risk after fusion with the stored level. At tier 2 and above the user gets a safety card (a `safety` event).
    public var risk: RiskAssessment
    /// The level to store.
    public var level: SafetyLevel
    /// What the stored level is about, for a message that shows no danger of its own.
    public var earlierDanger: EarlierDanger?

    public init(risk: RiskAssessment, level: SafetyLevel, earlierDanger: EarlierDanger? = nil) {
        self.risk = risk
        self.level = level
        self.earlierDanger = earlierDanger
    }

    /// The tier for which the prompt is built: the message's tier, or the stored level when that is higher.
    public var promptTier: RiskTier { max(risk.tier, RiskTier(rawValue: level.rawValue) ?? .none) }

    /// Has no effect unless `other` has a higher tier. A card is then for that risk, and no reminder.
    public mutating func raise(to other: RiskAssessment) {
        guard other.tier > risk.tier else { return }
        risk = risk.merged(with: other)
        risk.patterns.removeAll { $0 == SafetyFusion.reminderID }
        level = max(level, SafetyFusion.level(of: risk.tier))
    }
}

/// Combines the risk of one message with the stored safety level of the user.
///
/// The level rises at once. Within a conversation it never falls, neither after "jk" nor after a change of topic. Follow-ups ("tonight",
/// "I have them here") raise the tier only while the stored level is 1 or more, "yes" also after a question about suicide; short answers
/// count by what the coach asked (`CoachQuestion`). Only time lowers a level, in the database (SQL function `gateway.level_at`).
public struct SafetyFusion: Sendable {
    /// Pattern id of a turn whose card is shown for the stored level alone.
    static let reminderID = "state.reminder"
    /// Turns of a conversation between two reminders.
    private static let reminderInterval = 10

    private let followUps: [String: CrisisGrammar.FollowUp]

    /// `grammar` must be the one that assessed the messages.
    public init(grammar: CrisisGrammar) {
        followUps = Dictionary(
            (grammar.followUps + CrisisClassifier.followUps).map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// Combines the risk of a message with the stored level.
    ///
    /// - Parameters:
    ///   - earlier: the risk that an earlier attempt decided on for the same message. A stored level that is not above it comes from the message itself,
    ///     and makes no further follow-up count.
    ///   - earlierDanger: what the stored level is about. A short answer ("tonight") is about the same danger and the same person.
    ///   - question: the question of the coach's last message (`MessageAssessor.question`). "Yes" to a question that names danger counts at level 0, too:
    ///     the coach's model may have seen danger that the assessment missed.
    ///   - turnNumber: the number of the turn in its conversation, from 1. At a stored level of 2 or more, the first and every tenth turn have a card
    ///     although their message shows no danger.
    public func fuse(
        _ message: RiskAssessment, stored: SafetyLevel, earlier: RiskAssessment? = nil, earlierDanger: EarlierDanger? = nil,
        question: CoachQuestion = CoachQuestion(), turnNumber: Int? = nil
    ) -> SafetyDecision {
        var risk: RiskAssessment
        if let earlier, stored <= SafetyFusion.level(of: earlier.tier) {
            risk = repeated(message, decided: earlier)
        } else {
            risk = raised(message, stored: stored, earlierDanger, question)
        }
        let level = max(stored, SafetyFusion.level(of: risk.tier))
        // After a crisis the prompt stays careful, but a message without risk shows no further card than the reminder.
        if risk.tier == .none, stored >= .crisis { risk.tier = .concern }
        if let turnNumber, risk.tier < .crisis, stored >= .crisis, turnNumber == 1 || turnNumber % SafetyFusion.reminderInterval == 0 {
            risk.patterns.append(SafetyFusion.reminderID)
        }
        return SafetyDecision(risk: risk, level: level, earlierDanger: earlierDanger)
    }

    /// Whether a message has follow-ups, so that the coach's last message may change its risk.
    public func hasFollowUp(_ message: RiskAssessment) -> Bool { message.patterns.contains { followUps[$0] != nil } }

    /// The risk of a message with the follow-ups that count at the stored level or after the coach's question.
    private func raised(
        _ message: RiskAssessment, stored: SafetyLevel, _ earlierDanger: EarlierDanger?, _ question: CoachQuestion
    ) -> RiskAssessment {
        var risk = message
        var used: Set<String> = []
        for id in message.patterns {
            guard let followUp = followUps[id] else { continue }
            guard followUp.answer.map({ question.counts($0, stored: stored) }) ?? (stored > .calm) else { continue }
            let tier = stored >= .crisis ? followUp.tierAtCrisis : followUp.tierAtConcern
            guard tier > .none else { continue }
            used.insert(id)
            if tier > risk.tier {
                risk.tier = tier
                let named = inherit(earlierDanger, for: followUp, question, &risk.subject)
                risk.categories = named + risk.categories.filter { !named.contains($0) }
            }
        }
        risk.patterns = message.patterns.filter { followUps[$0] == nil || used.contains($0) }
        return risk
    }

    /// The categories of a follow-up. A short answer is about the danger and the person of before, unless the coach has just asked about suicide; and whoever
    /// wanted to hurt somebody still does: "I'll do it".
    private func inherit(
        _ danger: EarlierDanger?, for followUp: CrisisGrammar.FollowUp, _ question: CoachQuestion, _ subject: inout RiskSubject
    ) -> [RiskCategory] {
        guard let danger, !question.topics.contains(.namedDanger) else { return [followUp.category] }
        if followUp.answer != nil {
            if subject == .unclear { subject = danger.subject }
            return danger.categories
        }
        return danger.categories.contains(.violence)
            ? danger.categories + [followUp.category].filter { !danger.categories.contains($0) } : [followUp.category]
    }

    /// The risk of a message that is answered again: with the follow-ups that counted before, and at least the tier decided on before.
    private func repeated(_ message: RiskAssessment, decided earlier: RiskAssessment) -> RiskAssessment {
        var risk = message
        risk.patterns = message.patterns.filter { followUps[$0] == nil || earlier.patterns.contains($0) }
        if risk.subject == .unclear { risk.subject = earlier.subject }
        guard earlier.tier > risk.tier else { return risk }
        risk.tier = earlier.tier
        risk.categories = earlier.categories + risk.categories.filter { !earlier.categories.contains($0) }
        return risk
    }

    /// The level to store after a message of this tier.
    public static func level(of tier: RiskTier) -> SafetyLevel {
        switch tier {
        case .none: .calm
        case .concern: .concern
        case .crisis: .crisis
        case .high, .imminent: .high
        }
    }
}

extension RiskAssessment {
    /// Whether the card is shown for the stored level alone.
    public var isReminder: Bool { tier < .crisis && patterns.contains(SafetyFusion.reminderID) }

    /// Whether a card is shown, for the message or for the stored level alone.
    public var hasCard: Bool { tier >= .crisis || isReminder }
}
