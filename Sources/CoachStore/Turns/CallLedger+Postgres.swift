import CoachCore
import PostgresClient

extension CallLedger {
    /// The ledger in PostgreSQL. One small statement, bound to the user.
    public static func postgres(client: PostgresClient) -> CallLedger {
        CallLedger { call in
            let purpose = call.purpose == .answer ? nil : call.purpose.rawValue
            let function: Query = """
                gateway.record_call(\(call.userID), \(call.turnID), \(call.attempt)::integer, \(call.number)::integer, \
                \(purpose)::public.usage_purpose, \(call.day.description)::date)
                """
            let number: Int? = try await client.call(function, boundTo: call.userID)
            return number != nil
        }
    }
}
