/// One HTTP request of an `OutboundHTTPClient`. Redirects are never followed: a redirect response is returned as it is.
public struct OutboundRequest: Sendable {
    /// Absolute, `http` or `https`, ASCII, without credentials.
    public var url: String
    public var method: HTTPMethod
    /// Names must be tokens, and values must not contain control characters; otherwise the request fails with `invalidRequest`.
    public var headers: [HTTPHeader]
    public var body: [UInt8]?
    public var limits = OutboundLimits()
    /// Whether the operator or a user chose the address.
    public var destination = DestinationPolicy.any
    public var version = HTTPVersion.http1
    public var proxy = ProxyChoice.configured
    /// The TLS client certificate.
    public var certificate: ClientCertificate?
    /// PEM file of the certificate authorities to trust instead of the system's; nil: the system's.
    public var authorityFile: String?
    /// Whether the server recognizes a repeated request, for instance by an idempotency key. libcurl sends a request again by itself when a
    /// reused connection breaks before the first byte of the response. So a request with a non-idempotent method gets a new connection,
    /// unless this is true.
    public var mayBeSentTwice = false

    /// A request with default limits, to any address.
    public init(_ method: HTTPMethod = .get, url: String, headers: [HTTPHeader] = [], body: [UInt8]? = nil) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
    }

    /// Whether it may use a connection that was used before.
    var mayUseKeptConnection: Bool { method.isIdempotent || mayBeSentTwice }
}

/// The limits of time and size of a request.
public struct OutboundLimits: Sendable, Equatable {
    /// Until the request is given to a connection: name lookup, waiting for a free connection, proxy, TCP and TLS together.
    public var connect: Duration
    /// Until the response is complete; nil: no limit, for streams that the caller ends.
    public var total: Duration?
    /// Bytes of the body, as delivered.
    public var responseBytes: Int

    public init(connect: Duration = .seconds(5), total: Duration? = .seconds(30), responseBytes: Int = 1 << 20) {
        self.connect = connect
        self.total = total
        self.responseBytes = responseBytes
    }
}

/// Which addresses a request may be sent to, by who chose its URL.
public enum DestinationPolicy: Sendable {
    /// The operator: any address.
    case any
    /// A user: only addresses of the public internet (RFC 6890). Checked on the addresses that are connected to, not only on the URL, so
    /// that a name cannot resolve to a private address.
    case publicOnly
}

/// The highest HTTP version to use. The raw value is its name in configurations.
public enum HTTPVersion: String, Sendable, CaseIterable {
    case http1 = "1.1"
    /// HTTP/2 where TLS negotiates it, else HTTP/1.1.
    case http2 = "2"
}

/// Which proxy a request goes through.
public enum ProxyChoice: Sendable, Equatable {
    /// By `OutboundConfiguration.proxies`.
    case configured
    case none
    /// This proxy instead of the configured one.
    case use(Proxy)
}
