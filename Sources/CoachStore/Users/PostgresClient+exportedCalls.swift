import CoachCore
import PostgresClient

extension PostgresClient {
    /// Model calls by day and turn, also those whose turns were removed.
    ///
    /// Day by day, because a statement for all days is planned for every partition of the ledger, which takes seconds after some years. Whatever was booked
    /// on a day is counted in the user's budget of that day.
    func exportedCalls(of caller: Caller, after last: String?, _ limit: Int) async throws -> [ExportedRow] {
        let first = last.map { String($0.prefix { $0 != "/" }) }
        let days: Query = """
            select b.day::text from public.budgets b
            where b.user_id = \(caller.userID) and (\(first)::date is null or b.day >= \(first)::date) order by b.day
            """
        var rows: [ExportedRow] = []
        for day in try await userRows(days, for: caller, decode: { try $0.value(0, as: String.self) }) where rows.count < limit {
            let calls = Self.calls(of: caller, on: day, after: day == first ? last : nil, limit - rows.count)
            rows += try await userRows(calls, for: caller) { try ExportedRow(row: $0) }
        }
        return rows
    }

    private static func calls(of caller: Caller, on day: String, after last: String?, _ limit: Int) -> Query {
        var calls: Query = """
            select concat_ws('/', c.day, c.turn_id, c.attempt, c.call), (to_jsonb(c) - 'user_id' || jsonb_build_object(
                'cost_usd', c.cost_usd::text, 'created_at', \(Query.utc("c.created_at")), 'updated_at', \(Query.utc("c.updated_at"))))::text
            from public.model_calls c where c.user_id = \(caller.userID) and c.day = \(day)::date
            """
        if let last {
            func part(_ number: Int) -> Query { "split_part(\(last)::text, '/', \(number)::integer)" }
            calls.append(" and (c.turn_id, c.attempt, c.call) > (\(part(2))::uuid, \(part(3))::integer, \(part(4))::integer)")
        }
        calls.append(" order by c.turn_id, c.attempt, c.call limit \(limit)")
        return calls
    }
}
