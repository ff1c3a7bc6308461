/// The configuration of an `OutboundHTTPClient`.
public struct OutboundConfiguration: Sendable {
    /// The name of the client's thread.
    public var name = "outbound-http"
    public var proxies = ProxyRules.none
    /// Concurrent requests over all hosts; more fail with `overloaded`.
    public var maximumTransfers = 1024
    /// Connections that are kept open after use, over all hosts.
    public var idleConnections = 64
    /// Connections to one host; nil: no limit. With a limit, more requests wait within `OutboundLimits.connect`, and HTTP/2 requests wait
    /// for a connection that is being opened, to share it.
    public var connectionsPerHost: Int?

    public init() {}
}
