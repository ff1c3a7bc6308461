import CoachCore
import CoreMetrics
import Foundation
import Logging
import Synchronization
import Webhooks

/// Evaluates the rules of alerts with what this instance measures of itself, and shows those that fire as metrics.
final class AlertEvaluation: Sendable {
    private let alerts: Alerts
    private let rules: LiveValue<AlertRules>
    private let receipts: URL
    private let hasClassifiers: Bool
    private let circuits: @Sendable () -> [ModelName: CircuitState]
    private let jobs: @Sendable () async throws -> [JobFigures]
    /// Kinds of jobs that webhooks wait for.
    private let webhookKinds: Set<JobKind> = [RevenueCatReconciliation.subscriberKind, GooglePlayPurchaseFetcher.kind, Alerts.delivery]
    /// Rules with a gauge: one that does not fire any more is 0.
    private let known = Mutex<Set<String>>([])
    private let logger: Logger

    /// - Parameters:
    ///   - receipts: the folder of receipts that wait for the database.
    ///   - hasClassifiers: whether all trained models that detect danger are there.
    ///   - circuits: of the models of this instance.
    ///   - jobs: the queue of all instances.
    init(
        alerts: Alerts, rules: LiveValue<AlertRules>, receipts: URL, hasClassifiers: Bool,
        circuits: @escaping @Sendable () -> [ModelName: CircuitState], jobs: @escaping @Sendable () async throws -> [JobFigures],
        logger: Logger
    ) {
        self.alerts = alerts
        self.rules = rules
        self.receipts = receipts
        self.hasClassifiers = hasClassifiers
        self.circuits = circuits
        self.jobs = jobs
        self.logger = logger
    }

    /// Throws `StoreFault`.
    func run() async throws {
        let rules = rules.current
        let lag = try await jobs().filter { webhookKinds.contains($0.kind) }.map(\.age).max() ?? .zero
        try await alerts.note(circuits())
        let firing = Set(
            try await alerts.evaluate(
                rules,
                [.spooledReceipts: spooledReceipts(rules), .missingClassifiers: hasClassifiers ? 0 : 1, .webhookLag: lag / .seconds(1)]))
        let ids = known.withLock { known in
            known.formUnion(rules.rules.map(\.id))
            return known
        }
        for id in ids { Gauge(label: "coach_alert_firing", dimensions: [("rule", id)]).record(firing.contains(id) ? 1 : 0) }
    }

    /// The files of the folder. One that cannot be read counts as above the threshold of each rule: receipts in it wait, and the other rules must be
    /// evaluated all the same.
    private func spooledReceipts(_ rules: AlertRules) -> Double {
        do {
            return Double(try FileManager.default.contentsOfDirectory(atPath: receipts.path).count)
        } catch {
            logger.error("the folder of receipts cannot be read", metadata: ["path": "\(receipts.path)", "error": "\(error)"])
            return (rules.rules.filter { $0.measure == .spooledReceipts }.map(\.above).max() ?? 0) + 1
        }
    }
}
