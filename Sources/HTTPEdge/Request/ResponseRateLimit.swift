import CoachCore
import Synchronization

/// The caller's rate limit for the headers of a response (CONTRACT §2). Whoever counts the request records it: the middleware, or with
/// ``RequestCounting/byHandler`` the handler. `EdgeMiddleware` writes it to the response, whether that is a success, an error or a stream.
public final class ResponseRateLimit: Sendable {
    private let recorded = Mutex<RateLimit?>(nil)

    /// Nil while the request is not counted.
    var current: RateLimit? { recorded.withLock { $0 } }

    /// - Parameter rate: the state of the caller's limit after this request was counted.
    public func record(_ rate: RateLimit) { recorded.withLock { $0 = rate } }
}
