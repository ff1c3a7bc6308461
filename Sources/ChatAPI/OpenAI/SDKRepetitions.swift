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
    private let requests = Mutex(SentRequests())

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
        let id = SentRequests.ID(userID: userID, bodyHash: body.hashValue)
        return requests.withLock { requests in
            let sent = repetition > 0 ? requests.key(of: id, at: now) : nil
            let key = sent ?? UUID.random().canonicalText
            requests.set(key, of: id, at: now)
            return (key, sent != nil)
        }
    }
}

extension HTTPField.Name {
    fileprivate static let sdkRetryCount = Self("x-stainless-retry-count")!
}
