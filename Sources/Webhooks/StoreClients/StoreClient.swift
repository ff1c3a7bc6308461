import JSON
import OutboundHTTP

/// GET requests to the API of a store or RevenueCat, with its access token, spaced to stay below its rate limit.
struct StoreClient: Sendable {
    /// An answer that a client accepts.
    struct Answer {
        var status: Int
        var body: [UInt8]
    }

    /// The bounds of the time that a 429 holds requests back.
    private static let holds = Duration.seconds(1)...Duration.seconds(600)
    /// That time when the `Retry-After` of the response cannot be read, because it may be a long one.
    private static let unclearHold = Duration.seconds(60)

    private let client: OutboundHTTPClient
    private let baseURL: String
    private let pacer: RequestPacer
    private let accessToken: @Sendable () async throws -> String

    /// - Parameters:
    ///   - interval: between two requests of this instance, at least.
    ///   - accessToken: for the `Authorization` header.
    init(
        _ client: OutboundHTTPClient, baseURL: String, interval: Duration, accessToken: @escaping @Sendable () async throws -> String
    ) {
        self.client = client
        self.baseURL = baseURL
        pacer = RequestPacer(interval: interval)
        self.accessToken = accessToken
    }

    /// The answer, if it has one of these statuses. Throws `StoreClientError`, `CancellationError`, or what `accessToken` throws.
    func get(_ segments: [String], accepting statuses: Set<Int>) async throws -> Answer {
        try await pacer.wait()
        let token = try await accessToken()
        let path = segments.map { "/" + PercentEncoding.encode($0) }.joined()
        let request = OutboundRequest(
            url: baseURL + path, headers: [.init("Authorization", "Bearer \(token)"), .init("Accept", "application/json")])
        let response: OutboundResponse
        do throws(OutboundError) {
            response = try await client.send(request)
        } catch {
            try Task.checkCancellation()
            throw StoreClientError.temporary("\(error)")
        }
        if statuses.contains(response.status) { return Answer(status: response.status, body: response.body) }
        switch response.status {
        case 429:
            await pacer.hold(for: Self.hold(after: response.head))
            throw StoreClientError.temporary("the server limits requests")
        // 401 and 403: credentials can be repaired while the job waits.
        case 401, 403, 408, 500...: throw StoreClientError.temporary("the server answered \(response.status)")
        default: throw StoreClientError.permanent("the server answered \(response.status)")
        }
    }

    /// How long no request is sent after a 429 with this head.
    static func hold(after head: OutboundResponseHead, now: Timestamp = .now) -> Duration {
        guard let text = head["retry-after"] else { return holds.lowerBound }
        let pause = RetryAfter.pause(text, sent: head["date"], now: now) ?? unclearHold
        return min(max(pause, holds.lowerBound), holds.upperBound)
    }
}
