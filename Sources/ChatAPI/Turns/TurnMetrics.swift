import CoachCore
import CoreMetrics
import HTTPEdge
import TokenRelay

/// Metrics of turns and streams.
enum TurnMetrics {
    static func record(_ receipt: TurnReceipt) {
        turns[Outcome(status: receipt.status, domain: receipt.domain.domain)].increment()
        durations[receipt.status].recordMilliseconds(receipt.durationMilliseconds)
        if let first = receipt.timeToFirstTokenMilliseconds { timeToFirstToken.recordMilliseconds(first) }
        if let tier = receipt.risk?.tier, tier >= .concern { safetyTurns[tier].increment() }
        if let bill = receipt.bill { GenAIMetrics.record(receipt, bill) }
        record([receipt.bill] + (receipt.otherCalls ?? []).map(\.bill))
    }

    /// Cost and tokens of all calls of a turn, or of a summary; nil: no provider accepted the call. Of calls without a price the first one counts as the
    /// turn, as in the rollups.
    static func record(_ bills: [TurnBill?]) {
        let bills = bills.compactMap(\.self)
        for bill in bills {
            if let cost = bill.cost {
                spending[Billing(name: bill.name, isPriced: true)].increment(by: cost.raw)
            }
            GenAIMetrics.recordTokens(bill)
        }
        guard let unpriced = bills.first(where: { $0.cost == nil }) else { return }
        spending[Billing(name: unpriced.name, isPriced: false)].increment()
    }

    /// Counts a provider's report that was not billed, because it cannot be true.
    static func implausibleUsage(of name: ModelName) { implausible[name].increment() }

    /// Counts a sentence that the output guard replaced.
    static func replaced(_ kind: OutputRules.Kind) { replacements[kind].increment() }

    /// The effect of the message encoder on a message's tier.
    private enum Effect: String, Sendable {
        case raised, lowered, kept
    }

    static func encoded(from first: RiskTier, to second: RiskTier, since start: ContinuousClock.Instant) {
        encodings[second > first ? .raised : second < first ? .lowered : .kept].increment()
        encodingDuration.recordMilliseconds(start.duration(to: .now).milliseconds)
    }

    /// Counts a message that the large encoder is to read.
    static func largeEncoder(isUsed: Bool) { (isUsed ? largeEncoderUses : largeEncoderSkips).increment() }

    /// Counts a message that kept its first assessment.
    static func notEncoded(_ need: MessageAssessor.EncodingNeed, _ rejection: EncoderBudget.Rejection) {
        rejections[NotEncoded(isDanger: need == .danger, rejection: rejection)].increment()
    }

    /// The dimensions of `coach_encoder_refused`.
    private struct NotEncoded: Hashable {
        var isDanger: Bool
        var rejection: EncoderBudget.Rejection
    }

    /// The effect of the safety judge on a message's tier.
    enum Verdict: String, Sendable {
        case raised, kept
        /// Not asked because the call could not be recorded in time, too late, or not a verdict.
        case none
    }

    static func judged(_ verdict: Verdict, since start: ContinuousClock.Instant) {
        verdicts[verdict].increment()
        judgeDuration.recordMilliseconds(start.duration(to: .now).milliseconds)
    }

    static func stream(_ end: StreamResult) { streams[end].increment() }

    /// Counts turns that failed because the database rejected their receipt. Operators should be alerted to each.
    static let rejectedReceipts = Counter(label: "coach_refused_receipts")

    // MARK: Handles

    /// The dimensions of `coach_turns`.
    private struct Outcome: Hashable {
        var status: TurnStatus
        var domain: Domain?
    }

    /// The dimensions of `coach_cost_nanodollars` and `coach_unpriced_turns`.
    private struct Billing: Hashable {
        var name: ModelName
        var isPriced: Bool
    }

    private static let turns = MetricHandles { (outcome: Outcome) in
        Counter(label: "coach_turns", dimensions: [("status", outcome.status.rawValue), ("domain", outcome.domain?.rawValue ?? "none")])
    }
    private static let durations = MetricHandles { (status: TurnStatus) in
        Timer(label: "coach_turn_duration", dimensions: [("status", status.rawValue)])
    }
    private static let timeToFirstToken = Timer(label: "coach_time_to_first_token")
    private static let safetyTurns = MetricHandles { (tier: RiskTier) in
        Counter(label: "coach_safety_turns", dimensions: [("tier", "\(tier.rawValue)")])
    }
    private static let replacements = MetricHandles { (kind: OutputRules.Kind) in
        Counter(label: "coach_safety_replaced", dimensions: [("kind", kind.rawValue)])
    }
    private static let encodings = MetricHandles { (effect: Effect) in
        Counter(label: "coach_encoder_messages", dimensions: [("effect", effect.rawValue)])
    }
    private static let rejections = MetricHandles { (message: NotEncoded) in
        Counter(
            label: "coach_encoder_refused",
            dimensions: [("danger", message.isDanger ? "open" : "none"), ("reason", message.rejection.rawValue)])
    }
    private static let largeEncoderUses = Counter(label: "coach_large_encoder_messages", dimensions: [("outcome", "read")])
    private static let largeEncoderSkips = Counter(label: "coach_large_encoder_messages", dimensions: [("outcome", "no_time")])
    private static let encodingDuration = Timer(label: "coach_encoder_duration")
    private static let verdicts = MetricHandles { (verdict: Verdict) in
        Counter(label: "coach_judge_verdicts", dimensions: [("verdict", verdict.rawValue)])
    }
    private static let judgeDuration = Timer(label: "coach_judge_duration")
    /// Nanodollars; for models without a price, the number of turns and summaries.
    private static let spending = MetricHandles { (billing: Billing) in
        Counter(
            label: billing.isPriced ? "coach_cost_nanodollars" : "coach_unpriced_turns",
            dimensions: [("provider", billing.name.provider), ("model", billing.name.model)])
    }
    private static let implausible = MetricHandles { (name: ModelName) in
        Counter(label: "coach_implausible_usage", dimensions: [("provider", name.provider), ("model", name.model)])
    }
    private static let streams = MetricHandles { (end: StreamResult) in
        Counter(label: "coach_streams", dimensions: [("end", end.rawValue)])
    }
}
