import CoachCore
import HTTPEdge
import HTTPTypes
import Hummingbird
import TokenRelay

/// The parts of an HTTP request for a turn that the pipeline's steps use.
struct TurnHTTPRequest: Sendable {
    var context: AuthenticatedContext
    var idempotencyKey: String?
    /// Whether an earlier request may have begun the turn: the client has given a key, or an SDK repeats its request.
    var mayRepeat: Bool
    var acceptLanguage: String?
    var body: [UInt8]
    let trace: TurnTrace
    /// The persona of the path, whose draft answers; nil for a turn that is kept.
    var previewedPersona: PersonaID?

    /// - Parameter trace: the trace of the turn that the request begins.
    init(_ request: Request, _ context: AuthenticatedContext, body: [UInt8] = [], trace: TurnTrace = .none) {
        self.context = context
        idempotencyKey = request.headers[.idempotencyKey]
        mayRepeat = idempotencyKey != nil
        acceptLanguage = request.headers[.acceptLanguage]
        self.body = body
        self.trace = trace
    }

    /// A request that begins a turn. Its handler must end its trace.
    static func beginning(_ request: Request, _ context: AuthenticatedContext, body: [UInt8] = []) -> Self {
        Self(request, context, body: body, trace: TurnTrace(request.headers, arrivedAt: context.arrivedAt))
    }

    var caller: Caller { context.caller }

    /// The user's region for crisis resources: from the body, else the profile, else `Accept-Language` (CONTRACT §4).
    func region(_ request: TurnRequest, profile: Region = .unknown) -> Region {
        Region(firstOf: [request.region, profile, AcceptLanguage.region(acceptLanguage)])
    }
}

/// A turn to stream to a client, and how the client came to it.
struct TurnSubscription: Sendable {
    var turn: LiveTurn
    var request = Request.resumes

    enum Request {
        /// The request that began the turn.
        case began
        /// A request with the idempotency key of the one that began the turn.
        case repeats
        /// A request for the rest of the turn.
        case resumes
    }
}

extension Cursor {
    /// Before the first byte.
    static let start = Cursor(after: 0)
}
