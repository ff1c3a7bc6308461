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
                    "extract(epoch from gateway.operator_session(\(token.userID), \(token.secret)))::bigint", for: token.userID)
                return seconds.map { Date(timeIntervalSince1970: TimeInterval($0)) }
            },
            close: { token in
                let _: String? = try await client.call(
                    "gateway.close_operator_session(\(token.userID), \(token.secret))", for: token.userID)
            })
    }
}

extension PostgresClient {
    /// Calls a function of schema `gateway` for a user without their token, and again while another transaction is in its way. Throws
    /// `StoreFault`.
    fileprivate func call<Value: ColumnValue & Sendable>(_ function: Query, for userID: UserID) async throws -> Value {
        let query = Claims.gateway(for: userID, calling: function)
        return try await StoreFault.translating {
            try await repeatingContended { try await value(of: query, for: userID, as: Value.self) }
        }
    }
}
