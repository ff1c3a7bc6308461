/// Port to operators' alerts: what instances measure, and the evaluation of all rules, which stores the alerts and enqueues their webhooks.
/// `CoachStore` implements it on PostgreSQL. Closures throw `StoreFault`.
public struct Alerts: Sendable {
    /// The kind of the jobs that tell of an alert's beginning and end; their payload is the alert.
    public static let delivery = JobKind(rawValue: "deliver_alert")

    /// Notes the circuits of this instance. Those that it noted before and that are missing now are forgotten.
    public var note: @Sendable (_ circuits: [ModelName: CircuitState]) async throws -> Void
    /// Notes what this instance measures of itself, and compares all rules with what they measure. Returns the ids of rules that fire. Any instance may
    /// evaluate them; of several at the same time one does, and of several releases only the newest.
    public var evaluate: @Sendable (_ rules: AlertRules, _ readings: [AlertRule.Measure: Double]) async throws -> [String]

    public init(
        note: @escaping @Sendable (_ circuits: [ModelName: CircuitState]) async throws -> Void,
        evaluate: @escaping @Sendable (_ rules: AlertRules, _ readings: [AlertRule.Measure: Double]) async throws -> [String]
    ) {
        self.note = note
        self.evaluate = evaluate
    }
}
