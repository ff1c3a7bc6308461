/// What all requests of a client share.
public struct OutboundConfiguration: Sendable {
    /// The name of the client's thread.
    public var name = "outbound-http"
    public var proxies = ProxyRules.none
    /// Requests under way at a time, over all hosts; more are refused.
    public var maximumTransfers = 1024
    /// Connections kept open after use, over all hosts.
    public var idleConnections = 64
    /// Connections to one host; more requests wait, within their limit for connecting, and HTTP/2 requests wait for a stream of one that is
    /// being opened. nil: no limit.
    public var connectionsPerHost: Int?

    /// The defaults.
    public init() {}
}
