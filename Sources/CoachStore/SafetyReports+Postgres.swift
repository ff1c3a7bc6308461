import CoachCore
import PostgresClient

extension SafetyReports {
    /// Counts of `gateway.crisis_events` in PostgreSQL, through functions that check the caller's role.
    public static func postgres(client: PostgresClient) -> SafetyReports {
        SafetyReports(
            daily: { caller, first, last in
                try await client.operatorQuery(
                    """
                    select day::text, tier, category, jurisdiction, referrals, replaced
                    from operator.safety(\(first.description)::date, \(last.description)::date)
                    """, for: caller
                ) { rows in try rows.map { row in try SafetyCount(row: row) } }
            },
            yearly: { caller, year in
                try await client.operatorQuery(
                    "select null::text, tier, category, jurisdiction, referrals, replaced from operator.safety_report(\(year)::integer)",
                    for: caller
                ) { rows in try rows.map { row in try SafetyCount(row: row) } }
            })
    }
}

extension SafetyCount {
    fileprivate init(row: borrowing Row) throws {
        self.init(
            day: try row.value(0, as: String?.self).flatMap { CalendarDay($0) }, tier: try .stored(row.value(1, as: Int.self)),
            category: try row.value(2, as: String?.self).map { try .stored($0) }, jurisdiction: try row.value(3),
            referrals: try row.value(4), replaced: try row.value(5))
    }
}
