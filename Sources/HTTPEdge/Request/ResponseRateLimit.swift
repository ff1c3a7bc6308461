import CoachCore
import Synchronization

/// The caller's rate limit, which the response states in its headers (CONTRACT §2). The middleware records it when it counts the request; a handler
/// that counts by itself (``RequestCounting/byHandler``) records it there. `EdgeMiddleware` writes it to every response: success, error or stream.
public final class ResponseRateLimit: Sendable {
    private let recorded = Mutex<RateLimit?>(nil)

    /// Nil while the request is not counted.
    var current: RateLimit? { recorded.withLock { $0 } }

    /// - Parameter rate: the state of the caller's limit after this request was counted.
    public func record(_ rate: RateLimit) { recorded.withLock { $0 = rate } }
}
