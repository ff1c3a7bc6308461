/// One HTTP request to a foreign server. Redirects are never followed: the response is delivered as it is.
public struct OutboundRequest: Sendable {
    /// Absolute, `http` or `https`, ASCII, without credentials.
    public var url: String
    public var method: HTTPMethod
    /// Names and values. None may contain a control character.
    public var headers: [HTTPHeader]
    public var body: [UInt8]?
    public var limits = OutboundLimits()
    /// Whether the operator or a user chose the address.
    public var destination = Destination.any
    public var version = HTTPVersion.http1
    public var proxy = ProxyChoice.configured
    /// What proves to the server who we are.
    public var certificate: ClientCertificate?
    /// PEM file of the only authorities to trust; nil: those of the system.
    public var authorityFile: String?
    /// Whether the server recognizes a request that it gets twice, for instance by an idempotency key. libcurl silently sends a request again
    /// when a kept connection breaks before the first byte of the response; so a request of a method that is not idempotent gets a new
    /// connection unless this is true.
    public var mayBeSentTwice = false

    /// A request with default limits, to any address.
    public init(_ method: HTTPMethod = .get, url: String, headers: [HTTPHeader] = [], body: [UInt8]? = nil) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
    }

    /// Whether it may go over a connection that was used before.
    var mayUseKeptConnection: Bool { method.isIdempotent || mayBeSentTwice }
}

/// What a request may take.
public struct OutboundLimits: Sendable, Equatable {
    /// For the name, the wait for a free connection, the proxy, TCP and TLS together.
    public var connect: Duration
    /// For everything; nil: unbounded, as for streams that the caller ends.
    public var total: Duration?
    /// Of the body, as delivered.
    public var responseBytes: Int

    public init(connect: Duration = .seconds(5), total: Duration? = .seconds(30), responseBytes: Int = 1 << 20) {
        self.connect = connect
        self.total = total
        self.responseBytes = responseBytes
    }
}

/// Whether the operator or a user chose the address of a request.
public enum Destination: Sendable {
    /// The operator: any address.
    case any
    /// A user: only addresses of the public internet (RFC 6890), checked where the connection is made.
    case publicOnly
}

/// The HTTP version to ask for, as configurations name it.
public enum HTTPVersion: String, Sendable, CaseIterable {
    case http1 = "1.1"
    /// HTTP/2 where TLS negotiates it, else HTTP/1.1.
    case http2 = "2"
}

/// Which proxy a request goes through.
public enum ProxyChoice: Sendable, Equatable {
    /// As the client is configured.
    case configured
    case none
    /// This one, in place of the configured.
    case use(Proxy)
}
