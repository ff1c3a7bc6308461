import CoachCore
import Foundation
import PostgresClient

extension CostReports {
    /// Sums of the ledger in PostgreSQL, through a function that checks the caller's role.
    public static func postgres(client: PostgresClient) -> CostReports {
        CostReports { caller, query in
            let groups = query.groups.map(\.rawValue)
            return try await client.operatorQuery(
                """
                select \(CostRow.columns) from operator.costs(
                    \(query.first.description)::date, \(query.last.description)::date, \(groups), \(query.grain.rawValue))
                """, for: caller
            ) { rows in try rows.map { row in try CostRow(row: row) } }
        }
    }
}

extension CostRow {
    fileprivate static let columns: Query = """
        (extract(epoch from bucket) * 1000000)::bigint, model, provider, domain, persona_id, user_id, tier, turns, input_tokens, \
        cached_input_tokens, output_tokens, gateway.to_nanodollars(cost_usd), unpriced_turns
        """

    fileprivate init(row: borrowing Row) throws {
        self.init(
            bucket: try row.date(0), model: try row.value(1), provider: try row.value(2),
            domain: try row.value(3, as: String?.self).map { try .stored($0) },
            personaID: try row.value(4, as: UUID?.self).map { PersonaID($0) }, userID: try row.value(5, as: UUID?.self).map { UserID($0) },
            tier: try row.value(6), turns: try row.value(7), inputTokens: try row.value(8), cachedInputTokens: try row.value(9),
            outputTokens: try row.value(10), cost: try row.value(11, as: Int64?.self).map { Nanodollars($0) },
            unpricedTurns: try row.value(12))
    }
}
