/// How a transfer ended.
public enum TransferEnd: Sendable, Equatable {
    /// The response is complete by its framing. A response without length or chunked coding ends when the peer closes the connection.
    case complete
    /// `Transfer.cancel()` was called, or the client was closed.
    case cancelled
    /// It failed before or during the response.
    case failed(TransferFailure)
}

/// Why a transfer failed. Contains nothing of the request, so it may be logged.
public struct TransferFailure: Error, Sendable, Equatable, CustomStringConvertible {
    /// The phase in which it failed.
    public enum Kind: String, Sendable {
        /// The host name has no address.
        case resolve
        /// The peer or the proxy did not accept the connection.
        case connect
        /// No connection within `TransferRequest.connectTimeout`.
        case connectTimeout = "connect_timeout"
        /// The TLS handshake failed, or the peer's certificate is not trusted.
        case tls
        /// The connection ended after the request was sent and before any byte of a response. The peer may have processed the request:
        /// sending it again may do its work twice.
        case unanswered = "no_response"
        /// The connection ended before the response was complete, or the response is not valid HTTP.
        case cut
        /// The request was not sent: malformed URL or header, unreadable authority file, unusable proxy.
        case request
        /// Anything else.
        case other
    }

    public let kind: Kind
    /// The system's error code: an `errno`, the resolver's `EAI_…`, or the reason for which OpenSSL does not trust the peer
    /// (`X509_V_ERR_…`); 0 when there is none.
    public let code: Int32

    public init(kind: Kind, code: Int32 = 0) {
        self.kind = kind
        self.code = code
    }

    public var description: String { code == 0 ? kind.rawValue : "\(kind.rawValue) (\(code))" }
}
