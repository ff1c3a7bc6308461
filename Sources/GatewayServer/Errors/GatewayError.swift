import CoachCore
import GatewayAPI
import JSON

/// Everything that a caller can be told went wrong. Carries a stable code; status, texts and action come from `ErrorMapping` alone.
struct GatewayError: Error, Sendable {
    /// CONTRACT §2.
    var code: ErrorCode
    /// For developers; holds no user data and nothing internal.
    var message: String
    /// Overrides the mapped text where a code has two.
    var userMessage: String?
    /// Overrides the mapped status where a code has two.
    var status: Int?
    /// Overrides the mapped action where a code has two.
    var action: ErrorAction?
    /// Seconds; also sent as `Retry-After`.
    var retryAfter: Int?
    /// Machine-readable extras, such as `field` and `limit`.
    var details: [(String, JSONValue)] = []
    /// `Allow` and the like.
    var headers: [(String, String)] = []
    /// Set when the message, or the stored state, says that the user is in danger: every refusal then carries resources.
    var safety: StreamSafety?
    /// The rate-limit headers of an authenticated answer.
    var rate: RateLimit?

    init(_ code: ErrorCode, _ message: String, status: Int? = nil, retryAfter: Int? = nil) {
        self.code = code
        self.message = message
        self.status = status
        self.retryAfter = retryAfter
    }

    /// Names the request field that is wrong.
    func naming(field: String) -> Self {
        var copy = self
        copy.details.append(("field", .string(field)))
        return copy
    }
}

extension GatewayError {
    /// No such thing, or not yours: one answer for both, so that nobody learns which ids exist.
    static let notFound = GatewayError(.notFound, "no such route or resource")

    /// `Retry-After` defaults to a second: the pool is usually back by then.
    static func databaseAway(retryAfter: Int = 1) -> Self {
        GatewayError(.databaseUnavailable, "the database cannot be reached", retryAfter: max(1, retryAfter))
    }
}
