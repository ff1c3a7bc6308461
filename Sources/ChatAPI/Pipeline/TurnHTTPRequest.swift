import CoachCore
import HTTPEdge
import HTTPTypes
import Hummingbird
import TokenRelay

/// The HTTP request of a turn, as the steps need it.
struct TurnHTTPRequest: Sendable {
    var context: Authenticated
    var idempotencyKey: String?
    var acceptLanguage: String?
    var body: [UInt8]
    let trace: TurnTrace

    init(_ request: Request, _ context: Authenticated, body: [UInt8] = []) {
        self.context = context
        idempotencyKey = request.headers[.idempotencyKey]
        acceptLanguage = request.headers[.acceptLanguage]
        self.body = body
        trace = TurnTrace(request.headers, arrivedAt: context.arrivedAt)
    }

    var caller: Caller { context.caller }

    /// The region of a request: its body, else the profile, else `Accept-Language` (CONTRACT §4).
    func region(_ request: TurnRequest, profile: Region = .unknown) -> Region {
        Region(firstOf: [request.region, profile, AcceptLanguage.region(acceptLanguage)])
    }
}

/// A turn to stream, and the caller's rate limit.
struct TurnSubscription: Sendable {
    var turn: LiveTurn
    /// nil when the middleware counted.
    var rate: RateLimit?
    /// Whether the same request was made before.
    var isRepeated = false
}

extension Cursor {
    /// Before the first byte.
    static let start = Cursor(after: 0)
}
