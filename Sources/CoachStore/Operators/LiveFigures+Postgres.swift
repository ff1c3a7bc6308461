import CoachCore
import Foundation
import PostgresClient

extension LiveFigures {
    /// In PostgreSQL.
    public static func postgres(client: PostgresClient) -> LiveFigures {
        LiveFigures(
            state: {
                let query: Query = """
                    select (extract(epoch from as_of) * 1000000)::bigint, (extract(epoch from alerts_changed_at) * 1000000)::bigint
                    from gateway.figure_state()
                    """
                return try await StoreFault.translating {
                    try await client.query(query) { rows in
                        try rows.only { row in FigureState(asOf: try row.date(0), alertsChangedAt: try row.date(1)) }
                    }
                }
            },
            authorize: { caller in try await client.operatorQuery("select operator.require_operator()", for: caller) { _ in } })
    }
}
