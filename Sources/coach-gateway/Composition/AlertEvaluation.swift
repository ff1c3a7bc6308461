import CoachCore
import CoachStore
import CoreMetrics
import Foundation
import Synchronization
import Webhooks

/// Evaluates the rules of alerts with what this instance measures of itself, and shows those that fire as metrics.
final class AlertEvaluation: Sendable {
    private let alerts: Alerts
    private let rules: LiveValue<AlertRules>
    private let receipts: URL
    private let hasClassifier: Bool
    private let circuits: @Sendable () -> [ModelName: CircuitState]
    private let jobs: @Sendable () async throws -> [JobFigures]
    /// Kinds of jobs that webhooks wait for.
    private let webhookKinds: Set<JobKind> = [Reconciliation.subscriberKind, PlayPurchases.kind, Alerts.delivery]
    /// Rules with a gauge: one that does not fire any more is 0.
    private let known = Mutex<Set<String>>([])

    /// - Parameters:
    ///   - receipts: the folder of receipts that wait for the database.
    ///   - circuits: of the models of this instance.
    ///   - jobs: the queue of all instances.
    init(
        alerts: Alerts, rules: LiveValue<AlertRules>, receipts: URL, hasClassifier: Bool,
        circuits: @escaping @Sendable () -> [ModelName: CircuitState], jobs: @escaping @Sendable () async throws -> [JobFigures]
    ) {
        self.alerts = alerts
        self.rules = rules
        self.receipts = receipts
        self.hasClassifier = hasClassifier
        self.circuits = circuits
        self.jobs = jobs
    }

    /// Throws `StoreFault`, or what the file system throws.
    func run() async throws {
        let rules = rules.current
        let spooled = try FileManager.default.contentsOfDirectory(atPath: receipts.path).count
        let lag = try await jobs().filter { webhookKinds.contains($0.kind) }.map(\.age).max() ?? .zero
        try await alerts.note(circuits())
        let firing = Set(
            try await alerts.evaluate(
                rules,
                readings: [
                    .spooledReceipts: Double(spooled), .missingClassifiers: hasClassifier ? 0 : 1, .webhookLag: lag / .seconds(1),
                ]))
        let ids = known.withLock { known in
            known.formUnion(rules.rules.map(\.id))
            return known
        }
        for id in ids { Gauge(label: "coach_alert_firing", dimensions: [("rule", id)]).record(firing.contains(id) ? 1 : 0) }
    }
}
