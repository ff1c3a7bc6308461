import CoachCore
import JSON
import PostgresClient

/// Counts requests that are not turns, and meets new users.
public struct RequestStore: Sendable {
    /// What became of one request.
    public enum Outcome: String, Sendable, CaseIterable {
        case taken
        /// The minute is used up; nothing was counted.
        case rateLimited = "rate_limited"
        case suspended
    }

    /// What the database says to one request.
    public struct Answer: Sendable {
        public let outcome: Outcome
        public let rate: RateLimit
        /// Seconds until the next minute begins, when this one is used up.
        public let retryAfter: Int?
        public let safetyLevel: SafetyLevel
        /// From the user's profile.
        public let region: Region
    }

    private let client: PostgresClient

    public init(client: PostgresClient) {
        self.client = client
    }

    /// Takes one request of the caller's minute, exactly counted over all gateways, and makes his row when he is new. Throws `StoreFault`.
    public func take(_ caller: Caller, perMinute: Int) async throws -> Answer {
        return try await StoreFault.translating {
            do {
                let text: String = try await repeatingContended {
                    let query = Claims.gateway(for: caller, calling: "gateway.take_request(\(caller.userID), \(perMinute)::integer)")
                    return try await client.query(query, affinity: caller.userID.affinity) { rows in
                        try rows.only { row in try row.value(0) }
                    }
                }
                return try StoredJSON.decode(Answer.self, from: text)
            } catch let error as PostgresError where error.isOfRemovedUser {
                let rate = RateLimit(limit: perMinute, remaining: 0, resetAt: 0)
                return Answer(outcome: .suspended, rate: rate, retryAfter: nil, safetyLevel: .calm, region: .unknown)
            }
        }
    }
}

/// The answer of `gateway.take_request`.
extension RequestStore.Answer: JSONReadable {
    public init(_ json: JSONReader) throws(JSONFinding) {
        outcome = try json.required("outcome", .choice)
        rate = try json.required("rate")
        retryAfter = try json.optional("retry_after")
        safetyLevel = try json.required("safety_level", .choice)
        region = try Region(json)
    }
}
