import CoachCore
import Foundation
import JSON
import PostgresClient

extension Alerts {
    /// Alerts in PostgreSQL, which evaluates the rules.
    /// - Parameters:
    ///   - release: the version of this release's newest migration. While instances of several releases run, the rules of the newest count.
    ///   - isDelivered: whether jobs of webhooks are enqueued.
    public static func postgres(client: PostgresClient, instance: UUID, release: String, isDelivered: Bool) -> Alerts {
        Alerts(
            note: { circuits in
                let (names, states) = (Array(circuits.keys), circuits.values.map(\.rawValue))
                _ = try await StoreFault.translating {
                    try await client.execute(
                        """
                        select gateway.note_circuits(
                            \(instance), \(names.map(\.provider))::text[], \(names.map(\.model))::text[], \(states)::text[])
                        """)
                }
            },
            evaluate: { rules, readings in
                let noted: Query = """
                    select gateway.note_readings(
                        \(instance), \(readings.keys.map(\.rawValue))::text[], \(Array(readings.values))::double precision[])
                    """
                let evaluated: Query = """
                    select rule from gateway.evaluate_alerts_2(
                        \(instance), \(release)::integer, \(StoredJSON.encode(rules.rules))::jsonb,
                        \(isDelivered ? delivery.rawValue : nil)::text) as rule
                    """
                // On a connection of its own, because it reads figures.
                return try await StoreFault.translating {
                    try await client.withConnection { lease in
                        try await lease.batch([noted, evaluated]) { rows in try rows.map { row in try row.value(0) } }
                    }
                }
            })
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
