import CoachCore
import Foundation
import PostgresClient

extension UserAdministration {
    /// Accounts in PostgreSQL, through functions that check the caller's role.
    public static func postgres(client: PostgresClient) -> UserAdministration {
        UserAdministration(
            status: { caller, userID in
                let query: Query = "select \(AccountStatus.columns) from operator.user_status(\(userID))"
                return try await client.operatorQuery(query, for: caller) { rows in
                    try rows.map { row in try AccountStatus(row: row) }.first
                }
            },
            suspend: { caller, userID, reason, requestID in
                try await client.operatorQuery("select operator.suspend_user(\(userID), \(reason), \(requestID))", for: caller) { rows in
                    try rows.only { row in try row.value(0) }
                }
            },
            unsuspend: { caller, userID, reason, requestID in
                try await client.operatorQuery("select operator.unsuspend_user(\(userID), \(reason), \(requestID))", for: caller) { rows in
                    try rows.only { row in try row.value(0) }
                }
            })
    }
}

extension AccountStatus {
    fileprivate static let columns: Query = """
        (extract(epoch from created_at) * 1000000)::bigint, (extract(epoch from suspended_at) * 1000000)::bigint, suspended_reason, \
        entitlements, (extract(epoch from nullif(access_until, 'infinity')) * 1000000)::bigint, \
        (extract(epoch from last_turn_at) * 1000000)::bigint, running_turns, messages_today, \
        gateway.to_nanodollars(spent_today_usd), unpriced_turns_today
        """

    fileprivate init(row: borrowing Row) throws {
        self.init(
            createdAt: Date(microseconds: try row.value(0)), suspendedAt: try row.date(1), suspendedReason: try row.value(2),
            entitlements: try row.value(3), accessUntil: try row.date(4), lastTurnAt: try row.date(5), runningTurns: try row.value(6),
            messagesToday: try row.value(7), spentToday: Nanodollars(try row.value(8)), unpricedTurnsToday: try row.value(9))
    }
}
