import CoachCore
import Foundation
import PostgresClient

extension OperatorSessions {
    /// The sessions in `gateway.operator_sessions`. Each closure is one round trip.
    public static func postgres(client: PostgresClient) -> OperatorSessions {
        OperatorSessions(
            open: { caller, token in
                let expiresAt = Int64(caller.expiresAt.timeIntervalSince1970)
                try await client.operatorQuery(
                    "select gateway.open_operator_session(\(token.userID), \(token.secret), to_timestamp(\(expiresAt)::bigint))",
                    for: caller
                ) { _ in }
            },
            expiry: { token in
                let seconds: Int64? = try await client.call(
                    "extract(epoch from gateway.operator_session(\(token.userID), \(token.secret)))::bigint", boundTo: token.userID)
                return seconds.map { Date(timeIntervalSince1970: TimeInterval($0)) }
            },
            close: { token in
                // NULL without a session. Of one that is closed it is empty text, the value of a function without a result.
                let closed: String? = try await client.call(
                    """
                    case when gateway.operator_session(\(token.userID), \(token.secret)) is not null \
                    then gateway.close_operator_session(\(token.userID), \(token.secret)) end
                    """, boundTo: token.userID)
                return closed != nil
            })
    }
}
