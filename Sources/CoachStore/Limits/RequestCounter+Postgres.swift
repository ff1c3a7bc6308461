import CoachCore
import Foundation
import JSON
import PostgresClient

extension RequestCounter {
    /// Counts requests with `gateway.take_request`.
    /// - Parameter tiers: called for every request, so that a change of the tiers takes effect at once.
    public static func postgres(client: PostgresClient, tiers: @escaping @Sendable () -> TierBook) -> RequestCounter {
        RequestCounter(
            take: { caller, isOfTurn in
                let tiers = tiers()
                let argument = StoredJSON.encode(RequestLimits(tiers: tiers, isOfTurn: isOfTurn))
                let query = Claims.gateway(for: caller, calling: "gateway.take_request(\(caller.userID), \(argument)::jsonb)")
                return try await StoreFault.translating {
                    do {
                        let text = try await repeatingContended { try await client.value(of: query, for: caller.userID, as: String.self) }
                        return try StoredJSON.decode(TakeRequestAnswer.self, from: text).counted
                    } catch let error as PostgresError where error.isOfRemovedUser {
                        throw CountedRejection(rejection: Rejection(reason: .suspended), rate: .ofRemovedUser(tiers))
                    }
                }
            },
            giveBackMessage: { caller, day in
                let _: String? = try await client.call(
                    "gateway.give_back_message(\(caller.userID), \(day.description)::date)", for: caller)
            })
    }
}

extension RateLimit {
    /// Of a user whose account is removed: their requests are counted nowhere.
    static func ofRemovedUser(_ tiers: TierBook, now: Date = Date()) -> RateLimit {
        let limit = tiers.lowest.requestsPerMinute
        return RateLimit(limit: limit, remaining: limit, resetAt: Int(now.timeIntervalSince1970) + 60)
    }
}

/// The decoded result of `gateway.take_request`.
private struct TakeRequestAnswer: JSONReadable {
    private enum Outcome: String, CaseIterable {
        case taken
        case rateLimited = "rate_limited"
        case suspended
    }

    private let outcome: Outcome
    private let rate: RateLimit
    /// Seconds until the next window; nil unless rate limited.
    private let retryAfter: Int?
    private let safetyLevel: SafetyLevel
    private let region: Region
    private let isNewUser: Bool

    init(_ json: JSONReader) throws(JSONFinding) {
        outcome = try json.required("outcome", .choice)
        rate = try json.required("rate")
        retryAfter = try json.optional("retry_after")
        safetyLevel = try json.required("safety_level", .choice)
        region = try Region(json)
        isNewUser = try json.required("is_new_user")
    }

    var counted: CountedRequest {
        get throws(CountedRejection) {
            switch outcome {
            case .taken: CountedRequest(rate: rate, safetyLevel: safetyLevel, region: region, isNewUser: isNewUser)
            case .rateLimited: throw rejection(.rateLimited)
            case .suspended: throw rejection(.suspended)
            }
        }
    }

    private func rejection(_ reason: Rejection.Reason) -> CountedRejection {
        CountedRejection(
            rejection: Rejection(reason: reason, retryAfter: retryAfter, safetyLevel: safetyLevel, region: region),
            rate: rate)
    }
}
