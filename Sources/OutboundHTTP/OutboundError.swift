/// Why a request did not come to a response. Contains nothing of the request's headers or body, so it may be logged.
public struct OutboundError: Error, Sendable, Equatable, CustomStringConvertible {
    /// What went wrong. More may be added.
    public struct Code: Sendable, Hashable, RawRepresentable {
        public let rawValue: String

        public init(rawValue: String) { self.rawValue = rawValue }

        /// The request cannot be sent: URL, header, certificate or authority file.
        public static let invalidRequest = Code(rawValue: "invalid_request")
        /// The name has no address.
        public static let resolve = Code(rawValue: "resolve")
        /// The server, or the proxy, did not accept the connection.
        public static let connect = Code(rawValue: "connect")
        /// No connection within `OutboundLimits.connect`.
        public static let connectTimeout = Code(rawValue: "connect_timeout")
        /// The handshake failed, or the peer's certificate is not to be trusted.
        public static let tls = Code(rawValue: "tls")
        /// The proxy refused.
        public static let proxy = Code(rawValue: "proxy")
        /// No whole response within `OutboundLimits.total`.
        public static let timeout = Code(rawValue: "timeout")
        /// The connection ended after the request was given to it, and before anything of a response arrived. The server may have accepted the
        /// request.
        public static let unanswered = Code(rawValue: "no_response")
        /// The connection broke before the response was whole.
        public static let cut = Code(rawValue: "cut")
        /// What came is no HTTP response.
        public static let malformedResponse = Code(rawValue: "malformed_response")
        /// The response is larger than `OutboundLimits.responseBytes`, or its head than libcurl's limit.
        public static let responseTooLarge = Code(rawValue: "response_too_large")
        /// The address is not one of the public internet, and the request requires one.
        public static let forbiddenAddress = Code(rawValue: "forbidden_address")
        /// The task or the transfer was cancelled.
        public static let cancelled = Code(rawValue: "cancelled")
        /// Too many requests are under way.
        public static let overloaded = Code(rawValue: "overloaded")
        /// The client was shut down.
        public static let shutDown = Code(rawValue: "shut_down")
        /// Anything else.
        public static let other = Code(rawValue: "other")
    }

    /// The layer that reported the error.
    public enum Cause: Sendable, Equatable {
        /// libcurl's `CURLcode`, and the `errno` behind it (0: none).
        case curl(code: UInt32, errno: Int)
        /// The resolver's `EAI_…`.
        case resolver(Int32)
        /// OpenSSL's `X509_V_ERR_…`.
        case certificate(Int)
        /// The proxy's status, or SOCKS reply (`CURLproxycode`).
        case proxy(Int)
    }

    public let code: Code
    /// For operators.
    public let message: String
    public let cause: Cause?

    public init(_ code: Code, _ message: String, cause: Cause? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }

    public var description: String { "\(code.rawValue): \(message)" }
}
