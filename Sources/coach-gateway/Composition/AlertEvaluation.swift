import CoachCore
import CoachStore
import CoreMetrics
import Foundation
import Synchronization

/// Evaluates the rules of alerts with what this instance measures of itself, and shows those that fire as metrics.
final class AlertEvaluation: Sendable {
    private let alerts: Alerts
    private let rules: LiveValue<AlertRules>
    private let receipts: URL
    private let hasClassifier: Bool
    /// Rules with a gauge: one that does not fire any more is 0.
    private let known = Mutex<Set<String>>([])

    /// `receipts`: the folder of receipts that wait for the database.
    init(alerts: Alerts, rules: LiveValue<AlertRules>, receipts: URL, hasClassifier: Bool) {
        self.alerts = alerts
        self.rules = rules
        self.receipts = receipts
        self.hasClassifier = hasClassifier
    }

    /// Throws `StoreFault`, or what the file system throws.
    func run() async throws {
        let rules = rules.current
        let spooled = try FileManager.default.contentsOfDirectory(atPath: receipts.path).count
        let firing = Set(
            try await alerts.evaluate(
                rules, readings: [.spooledReceipts: Double(spooled), .missingClassifiers: hasClassifier ? 0 : 1]))
        let ids = known.withLock { known in
            known.formUnion(rules.rules.map(\.id))
            return known
        }
        for id in ids { Gauge(label: "coach_alert_firing", dimensions: [("rule", id)]).record(firing.contains(id) ? 1 : 0) }
    }
}
