import CoachCore
import GatewayAPI
import HTTPTypes

/// The documentation of a route, as the OpenAPI document shows it. It affects requests in three ways only: a handler gets the declared query parameters and
/// no others, a GET has a HEAD beside it unless its response can be a stream, and where no body is declared one above
/// the default limit is rejected.
public struct RouteDescription: Sendable {
    /// One line.
    public var summary: String
    /// Query and header parameters, and those of the path that are not ids.
    public var parameters: [RouteParameter]
    /// The JSON request body; nil without one.
    public var body: (any BodyDescription)?
    /// Media types of other bodies, in bytes.
    public var uploads: [String]
    /// The fields of a form that a page may send in place of another body, or of none. Its answer is 303 to a page, or an error as a page.
    public var form: Schema?
    public var response: RouteResponse
    /// Statuses of errors beyond those that its kind of route has.
    public var failures: [Int]
    /// The JSON bodies of errors that are no envelopes, by status.
    public var ownFailures: [Int: Schema]
    /// Whether a 404 is a page for requests that accept `text/html`.
    public var hasNotFoundPage: Bool
    /// The section in the document. Set by the group.
    var tag = ""
    /// The callers that the route accepts. Set by the group.
    var security = Security.open

    public init(
        _ summary: String, parameters: [RouteParameter] = [], body: (any BodyDescription)? = nil, uploads: [String] = [],
        form: Schema? = nil, response: RouteResponse, failures: [Int] = [], ownFailures: [Int: Schema] = [:], hasNotFoundPage: Bool = false
    ) {
        self.summary = summary
        self.parameters = parameters
        self.body = body
        self.uploads = uploads
        self.form = form
        self.response = response
        self.failures = failures
        self.ownFailures = ownFailures
        self.hasNotFoundPage = hasNotFoundPage
    }

    /// Of a route whose body is described by the documents of its senders.
    public static func takingAnyBody(_ summary: String, response: RouteResponse) -> RouteDescription {
        RouteDescription(summary, body: ForeignBody(.any), response: response)
    }

    enum Security: Sendable {
        case open
        case authenticated(RequestCounting, Role?)

        var counting: RequestCounting { if case .authenticated(let counting, _) = self { counting } else { .besideHandler } }
        var role: Role? { if case .authenticated(_, let role) = self { role } else { nil } }
        /// Names in `components.securitySchemes`, of which one suffices.
        var schemes: [String] { isOpen ? [] : role == .operator ? ["bearer", "session"] : ["bearer"] }
        var isOpen: Bool { if case .open = self { true } else { false } }
    }
}

/// A parameter of a route.
public struct RouteParameter: Sendable {
    public enum Location: String, Sendable {
        case query, header, path
    }

    public var name: String
    public var location: Location
    public var schema: Schema
    public var isRequired: Bool

    public init(_ name: String, in location: Location, _ schema: Schema, required isRequired: Bool = false) {
        self.name = name
        self.location = location
        self.schema = schema
        self.isRequired = isRequired || location == .path
    }

    /// The `Idempotency-Key` header of a request that may be repeated (CONTRACT §4).
    public static let idempotencyKey = RouteParameter("Idempotency-Key", in: .header, .text(maximumLength: 128))
}

/// The success response of a route.
public struct RouteResponse: Sendable {
    enum Content: Sendable {
        /// The envelope with this `data`.
        case data(Schema)
        /// The envelope with an array of these; also CSV and JSON Lines.
        case list(Schema)
        /// Server-sent events.
        case events(Schema)
        /// Other media types, of which `Accept` chooses.
        case media([(type: String, schema: Schema)])
    }

    var status: Int
    var content: Content
    /// Whether the response has an `ETag`.
    var isVersioned = false
    /// Whether the response says of when its figures are.
    var hasFigures = false
    var isStreamed = false

    public static func data(_ schema: Schema, status: HTTPResponse.Status = .ok) -> Self {
        Self(status: status.code, content: .data(schema))
    }
    public static func list(_ element: Schema) -> Self { Self(status: 200, content: .list(element)) }
    public static func events(_ schema: Schema) -> Self { Self(status: 200, content: .events(schema)) }
    public static func media(_ type: String, _ schema: Schema = .any) -> Self { Self(status: 200, content: .media([(type, schema)])) }
    public static func media(_ types: KeyValuePairs<String, Schema>) -> Self {
        Self(status: 200, content: .media(types.map { (type: $0.key, schema: $0.value) }))
    }

    /// The media type of server-sent events.
    public static let eventStream = "text/event-stream"

    /// Whether the response, to some requests, is written while it is made, so that its length is not known before.
    var mayBeStream: Bool {
        switch content {
        case .events: true
        case .media(let types): isStreamed || types.contains { $0.type == Self.eventStream }
        case .data, .list: false
        }
    }

    /// 204, without a body.
    public static let noContent = Self(status: 204, content: .media([]))

    /// The same response with the headers of figures (`FigureMeta`).
    public var figures: Self {
        var copy = self
        copy.hasFigures = true
        return copy
    }

    /// The same response, written while it is made.
    public var streamed: Self {
        var copy = self
        copy.isStreamed = true
        return copy
    }

    /// The same response with an `ETag` header.
    public var versioned: Self {
        var copy = self
        copy.isVersioned = true
        return copy
    }
}
