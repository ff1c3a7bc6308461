import CoachCore
import PostgresClient

/// Counts requests that are not turns, and meets new users.
public struct RequestStore: Sendable {
    /// What became of one request.
    public enum Outcome: String, Sendable {
        case taken
        /// The minute is used up; nothing was counted.
        case rateLimited = "rate_limited"
        case suspended
    }

    private let client: PostgresClient

    public init(client: PostgresClient) {
        self.client = client
    }

    /// Takes one request of the caller's minute, exactly counted over all gateways, and makes his row when he is new. Throws `StoreFault`.
    public func take(_ caller: Caller, perMinute: Int) async throws -> (outcome: Outcome, rate: RateLimit) {
        return try await StoreFault.translating {
            do {
                let text: String = try await repeatingContended {
                    try await client.query(Claims.gateway(for: caller, calling: "gateway.take_request(\(perMinute)::integer)")) { rows in
                        try rows.only { row in try row.value(0) }
                    }
                }
                let answer = try StoredJSON.decode(Answer.self, from: text)
                return (answer.outcome, answer.rate)
            } catch let error as PostgresError where error.constraint == "users_id_fkey" {
                return (.suspended, RateLimit(limit: perMinute, remaining: 0, resetAt: 0))
            }
        }
    }
}

/// The answer of `gateway.take_request`.
private struct Answer: StoredReadable {
    let outcome: RequestStore.Outcome
    let rate: RateLimit

    init(_ stored: StoredValue) throws(StoredMismatch) {
        outcome = try stored.choice("outcome")
        rate = try stored.member("rate")
    }
}
