import CoachCore
import GatewayAPI
import JSON

/// An error response of the API. It has a stable code; status, user text and action come from `ErrorMapping`, unless overridden here.
public struct GatewayError: Error, Sendable {
    /// CONTRACT §2.
    public var code: ErrorCode
    /// For developers of clients. Must contain no user data and nothing internal.
    public var message: String
    /// Overrides the mapped text.
    public var userMessage: String?
    /// Overrides the mapped status.
    public var status: Int?
    /// Overrides the mapped action.
    public var action: ErrorAction?
    /// Seconds; also sent as `Retry-After`.
    public var retryAfter: Int?
    /// Machine-readable extras, such as `field` and `limit`.
    public var details: [(String, JSONValue)] = []
    /// The code of OpenAI's protocol, where it differs from that of the error's kind.
    public var openAICode: String?
    /// Further response headers, such as `Allow`.
    public var headers: [(String, String)] = []
    /// Crisis resources, when the message or the stored safety level requires them.
    public var safety: StreamSafety?
    /// Crisis resources by the stored level and the region of the user's profile, which are not known before the request is counted. That region comes
    /// before `Accept-Language` (CONTRACT §4). Asked when there is no `safety`.
    public var safetyByProfile: (@Sendable (SafetyLevel, Region) -> StreamSafety?)?
    /// A turn was begun and ended without an answer, so that a repeated request would begin another one.
    public var hasBegunTurn = false
    /// The state of the caller's limit, for the response's headers, of a request that was rejected when it was counted. After a request was
    /// counted its context has it.
    var rate: RateLimit?
    /// The limit that rejected the request, for metrics.
    public var limit: RequestLimit?

    public init(_ code: ErrorCode, _ message: String, status: Int? = nil, retryAfter: Int? = nil, limit: RequestLimit? = nil) {
        self.code = code
        self.message = message
        self.status = status
        self.retryAfter = retryAfter
        self.limit = limit
    }

    /// The status of its response.
    public var httpStatus: Int { status ?? ErrorMapping.row(code).status }

    /// The error with its own resources, else those of its message by the stored level and the profile's region, else the given ones.
    func with(safety: StreamSafety?, stored level: SafetyLevel = .calm, inProfile region: Region = .unknown) -> Self {
        var copy = self
        copy.safety = self.safety ?? safetyByProfile?(level, region) ?? safety
        return copy
    }

    /// Sets `details.field`, the name of the invalid field.
    public func naming(field: String) -> Self {
        var copy = self
        copy.details.removeAll { $0.0 == "field" }
        copy.details.append(("field", .string(field)))
        return copy
    }
}

extension GatewayError {
    /// The same answer for a resource that does not exist and for one of another user, so that ids cannot be probed.
    public static let notFound = GatewayError(.notFound, "no such route or resource")

    /// A domain that does not exist, in a request's `domain`.
    public static let unknownDomain = GatewayError(.personaOrDomainUnavailable, "there is no such domain").naming(field: "domain")

    /// `retryAfter` in seconds; the pool usually recovers within one.
    static func databaseAway(retryAfter: Int = 1) -> Self {
        GatewayError(.databaseUnavailable, "the database cannot be reached", retryAfter: max(1, retryAfter))
    }
}
