/// How a transfer ended.
public enum TransferEnd: Sendable, Equatable {
    /// The response arrived whole by its framing. A response without length or chunks ends whenever the peer closes.
    case complete
    /// `Transfer.cancel()` was called, or the pool was closed.
    case cancelled
    /// It did not come about, or broke.
    case failed(TransferFailure)
}

/// Why a transfer failed. Says nothing about the request's content, so it may be logged.
public struct TransferFailure: Error, Sendable, Equatable, CustomStringConvertible {
    /// Where it went wrong.
    public enum Kind: String, Sendable {
        /// The name was not found.
        case resolve
        /// The peer, or the proxy, did not take the connection.
        case connect
        /// No connection within the time allowed for it.
        case connectTimeout = "connect_timeout"
        /// The handshake failed, or the peer's certificate is not to be trusted.
        case tls
        /// The connection ended after the request was given to it, and before anything of a response came. The peer may have accepted the request:
        /// sent again, its work may be done twice.
        case unanswered = "no_response"
        /// The connection broke before the response was whole, or what came is no HTTP/1 response.
        case cut
        /// The request cannot be sent: malformed address or header, unreadable authority file, unusable proxy.
        case request
        /// Anything else.
        case other
    }

    public let kind: Kind
    /// The system's error code: an `errno`, the resolver's `EAI_…`, or the reason for which OpenSSL does not trust the peer (`X509_V_ERR_…`); 0
    /// when there is none.
    public let code: Int32

    public init(kind: Kind, code: Int32 = 0) {
        self.kind = kind
        self.code = code
    }

    public var description: String { code == 0 ? kind.rawValue : "\(kind.rawValue) (\(code))" }
}
