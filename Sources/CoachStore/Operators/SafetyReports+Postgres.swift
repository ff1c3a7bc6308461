import CoachCore
import PostgresClient

extension SafetyReports {
    /// Counts of `gateway.crisis_events` in PostgreSQL, through a function that checks the caller's role.
    public static func postgres(client: PostgresClient) -> SafetyReports {
        SafetyReports(yearly: { caller, year in
            try await client.operatorQuery(
                "select tier, category, jurisdiction, referrals, replaced from operator.safety_report(\(year)::integer)", for: caller
            ) { rows in try rows.map { row in try SafetyCount(row: row) } }
        })
    }
}

extension SafetyCount {
    fileprivate init(row: borrowing Row) throws {
        self.init(
            tier: try .stored(row.value(0, as: Int.self)), category: try row.value(1, as: String?.self).map { try .stored($0) },
            jurisdiction: try row.value(2), referrals: try row.value(3), replaced: try row.value(4))
    }
}
