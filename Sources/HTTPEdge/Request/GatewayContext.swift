import Hummingbird
import NIOCore

/// Hummingbird's context of a request, before authentication.
public struct GatewayContext: EdgeContext {
    public var coreContext: CoreRequestContextStorage
    public let channel: any Channel
    public internal(set) var requestID: String
    public let arrivedAt: ContinuousClock.Instant
    public let rateLimit = ResponseRateLimit()
    /// Set by ``AuthenticationMiddleware``; ``AuthenticatedContext`` is made from it.
    var authentication: Authentication?

    public init(source: ApplicationRequestContextSource) {
        coreContext = .init(source: source)
        channel = source.channel
        requestID = ""
        arrivedAt = .now
    }
}

/// The context that every handler gets with a request: `GatewayContext` on open routes, `AuthenticatedContext` on others.
public protocol EdgeContext: RequestContext {
    /// The connection. Its close future succeeds when the client has disconnected.
    var channel: any Channel { get }
    /// The request's id, in log lines and in `meta.request_id` of the response.
    var requestID: String { get }
    /// The rate limit that the response states.
    var rateLimit: ResponseRateLimit { get }
}
