import Hummingbird
import NIOCore

/// The context of a request, from the connection to the response.
public struct GatewayContext: EdgeContext {
    public var coreContext: CoreRequestContextStorage
    public let channel: any Channel
    public internal(set) var requestID: String
    public let arrivedAt: ContinuousClock.Instant
    /// Set by ``AuthenticationMiddleware``; ``Authenticated`` is made from it.
    var authentication: Authentication?

    public init(source: ApplicationRequestContextSource) {
        coreContext = .init(source: source)
        channel = source.channel
        requestID = ""
        arrivedAt = .now
    }
}

/// What every handler gets with a request.
public protocol EdgeContext: RequestContext {
    /// The connection; its close future succeeds when the client has disconnected.
    var channel: any Channel { get }
    /// In every log line and in `meta.request_id`.
    var requestID: String { get }
    /// When the head arrived.
    var arrivedAt: ContinuousClock.Instant { get }
}
