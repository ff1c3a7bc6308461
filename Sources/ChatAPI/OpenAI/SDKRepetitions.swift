import CoachCore
import Foundation
import HTTPTypes
import JSON
import OpenSSLCrypto
import Synchronization

/// Recognizes repeated requests of OpenAI's SDKs. After a timeout or a broken connection an SDK sends the same body again; it has no `Idempotency-Key`, but
/// counts the repetitions in `x-stainless-retry-count`. A repetition gets the key of the request that it repeats, so that it attaches to that turn
/// instead of beginning, and billing, another one.
///
/// In memory: a repetition that reaches another instance begins a turn of its own. Repetitions of two equal requests at the same time attach to the later
/// one's turn. A request that continues a conversation has a key that every instance knows: `identifyContinuation`.
final class SDKRepetitions: Sendable {
    /// An SDK waits ten minutes for an answer, and then at most two before it repeats the request.
    private static let lifetime = Duration.seconds(12 * 60)
    private static let mostRequests = 10_000

    /// Requests with the same body of one user.
    private struct RequestID: Hashable {
        let userID: UserID
        /// Of 64 bits, seeded for the process: two bodies of one user do not have the same by chance.
        let bodyHash: Int
    }

    private struct SentRequest {
        let key: String
        let receivedAt: ContinuousClock.Instant
    }

    private let requests = Mutex<[RequestID: SentRequest]>([:])

    /// The request with a key; unchanged when the client has given one, or when it is no SDK's.
    func identify(_ http: TurnHTTPRequest, _ headers: HTTPFields) -> TurnHTTPRequest {
        guard http.idempotencyKey == nil, let repetition = Self.repetition(headers) else { return http }
        var http = http
        let (key, isRepetition) = key(of: repetition, http.caller.userID, http.body)
        http.idempotencyKey = key
        http.mayRepeat = isRepetition
        return http
    }

    /// The same for a request that continues an earlier response. Its key is made from its body, because its repetition on another instance would be rejected:
    /// its own turn has continued that response. An equal request that is new does not meet that turn, as it is rejected for the same reason, or, when the
    /// turn was deleted, because the deletion removes such a key (`gateway.delete_response`).
    static func identifyContinuation(_ http: TurnHTTPRequest, _ headers: HTTPFields) -> TurnHTTPRequest {
        guard http.idempotencyKey == nil, let repetition = Self.repetition(headers) else { return http }
        var http = http
        // The prefix is that in `gateway.delete_response`.
        http.idempotencyKey = "sdk:\(Hexadecimal.encode(SHA256.hash(http.body)))"
        http.mayRepeat = repetition > 0
        return http
    }

    private static func repetition(_ headers: HTTPFields) -> Int? { headers[.sdkRetryCount].flatMap { Int($0) } }

    /// - Parameter repetition: counted from 1; 0 for a new request, which gets a key of its own even when its body was sent before.
    func key(
        of repetition: Int, _ userID: UserID, _ body: [UInt8], at now: ContinuousClock.Instant = .now
    ) -> (key: String, isRepetition: Bool) {
        let id = RequestID(userID: userID, bodyHash: body.hashValue)
        return requests.withLock { requests in
            if repetition > 0, let sent = requests[id], now < sent.receivedAt + Self.lifetime {
                requests[id] = SentRequest(key: sent.key, receivedAt: now)
                return (sent.key, true)
            }
            if requests.count >= Self.mostRequests { requests = requests.filter { now < $0.value.receivedAt + Self.lifetime } }
            if requests.count >= Self.mostRequests, let oldest = requests.min(by: { $0.value.receivedAt < $1.value.receivedAt }) {
                requests[oldest.key] = nil
            }
            let sent = SentRequest(key: UUID.random().canonicalText, receivedAt: now)
            requests[id] = sent
            return (sent.key, false)
        }
    }
}

extension HTTPField.Name {
    fileprivate static let sdkRetryCount = Self("x-stainless-retry-count")!
}
