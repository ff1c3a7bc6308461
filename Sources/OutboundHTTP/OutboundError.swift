/// Why a request has no complete response. Contains nothing of the request's headers or body, so it may be logged.
public struct OutboundError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The kind of failure. Later versions may add codes.
    public struct Code: Sendable, Hashable, RawRepresentable {
        public let rawValue: String

        public init(rawValue: String) { self.rawValue = rawValue }

        /// The request was not sent: its URL, a header, the client certificate, an authority file or the proxy setting is invalid.
        public static let invalidRequest = Code(rawValue: "invalid_request")
        /// The name of the server or the proxy has no address.
        public static let resolve = Code(rawValue: "resolve")
        /// The server, or the proxy, did not accept the connection.
        public static let connect = Code(rawValue: "connect")
        /// No connection within `OutboundLimits.connect`.
        public static let connectTimeout = Code(rawValue: "connect_timeout")
        /// The TLS handshake failed, or the peer's certificate is not trusted.
        public static let tls = Code(rawValue: "tls")
        /// The proxy rejected the request, for instance because of its credentials.
        public static let proxy = Code(rawValue: "proxy")
        /// No whole response within `OutboundLimits.total`.
        public static let timeout = Code(rawValue: "timeout")
        /// The connection ended after the request was given to it and before any byte of a response. The server may have processed the
        /// request.
        public static let unanswered = Code(rawValue: "no_response")
        /// The connection ended before the response was complete.
        public static let cut = Code(rawValue: "cut")
        /// The response is not valid HTTP.
        public static let malformedResponse = Code(rawValue: "malformed_response")
        /// The body is larger than `OutboundLimits.responseBytes`, or the heads are larger than 64 KiB.
        public static let responseTooLarge = Code(rawValue: "response_too_large")
        /// The request has `DestinationPolicy.publicOnly`, and the address is not of the public internet.
        public static let forbiddenAddress = Code(rawValue: "forbidden_address")
        /// The task or the transfer was cancelled.
        public static let cancelled = Code(rawValue: "cancelled")
        /// `OutboundConfiguration.maximumTransfers` requests are running.
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
    /// A description for operators, in English.
    public let message: String
    public let cause: Cause?

    public init(_ code: Code, _ message: String, cause: Cause? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }

    public var description: String { "\(code.rawValue): \(message)" }
}
