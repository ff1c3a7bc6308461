import CoachCore
import Foundation
import JSON
import PostgresClient

/// Saves what this instance measures, and evaluates all alert rules in the database, which stores the alerts and enqueues their webhooks. Any
/// instance may evaluate them; of several at the same time one does. Methods throw `StoreFault`.
public struct Alerts: Sendable {
    /// The kind of the jobs that tell of an alert's beginning and end; their payload is the alert.
    public static let delivery = JobKind(rawValue: "deliver_alert")

    private let client: PostgresClient
    private let instance: UUID
    private let isDelivered: Bool

    /// `isDelivered`: whether jobs are enqueued.
    public init(client: PostgresClient, instance: UUID, isDelivered: Bool) {
        self.client = client
        self.instance = instance
        self.isDelivered = isDelivered
    }

    /// Notes the circuits of this instance. Those that it noted before and that are missing now are forgotten.
    public func note(_ circuits: [ModelName: CircuitState]) async throws {
        let (names, states) = (Array(circuits.keys), circuits.values.map(\.rawValue))
        _ = try await StoreFault.translating {
            try await client.execute(
                """
                select gateway.note_circuits(
                    \(instance), \(names.map(\.provider))::text[], \(names.map(\.model))::text[], \(states)::text[])
                """)
        }
    }

    /// Notes what this instance measures of itself, and compares all rules with what they measure. Returns the ids of rules that fire. On a
    /// connection of its own, because it reads figures.
    public func evaluate(_ rules: AlertRules, readings: [AlertRule.Measure: Double]) async throws -> [String] {
        let noted: Query = """
            select gateway.note_readings(\(instance), \(readings.keys.map(\.rawValue))::text[], \(Array(readings.values))::double precision[])
            """
        let evaluated: Query = """
            select rule from gateway.evaluate_alerts(\(StoredJSON.encode(rules.rules))::jsonb, \(isDelivered ? Self.delivery.rawValue : nil)::text) \
            as rule
            """
        return try await StoreFault.translating {
            try await client.withConnection { lease in
                try await lease.batch([noted, evaluated]) { rows in try rows.map { row in try row.value(0) } }
            }
        }
    }
}

extension AlertRule: StoredWritable {
    func write(to json: inout JSONWriter) {
        json.object { json in
            json.field("id", id)
            json.field("measure", measure.rawValue)
            json.field("above", above)
            json.field("window_minutes", windowMinutes)
            json.field("minimum", minimum)
            json.field("severity", severity.rawValue)
        }
    }
}
