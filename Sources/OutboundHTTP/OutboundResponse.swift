/// Status and headers of the final response. Interim responses (1xx), a proxy's answers and trailers are not reported.
public struct OutboundResponseHead: Sendable, Equatable {
    public var status: Int
    /// Names in lower case, in the order received.
    public var headers: [HTTPHeader]

    public init(status: Int, headers: [HTTPHeader] = []) {
        self.status = status
        self.headers = headers
    }

    /// The first value of a header; `name` in lower case.
    public subscript(name: String) -> String? { headers.first { $0.name == name }?.value }
}

/// A response that arrived whole.
public struct OutboundResponse: Sendable, Equatable {
    public var head: OutboundResponseHead
    /// As it was sent: no content coding is requested, and none is removed.
    public var body: [UInt8]

    public var status: Int { head.status }

    public init(head: OutboundResponseHead, body: [UInt8]) {
        self.head = head
        self.body = body
    }
}

/// Whether a receiver takes more of a response.
public enum ReceiveDemand: Sendable {
    case more
    /// Nothing more until `OutboundTransfer.resume()`. The socket is not read meanwhile; over HTTP/2, where the connection belongs to other streams
    /// too, libcurl keeps what arrives: up to its window of 32 MB a stream.
    case pause
}

/// What is called, on the client's thread, while a response arrives: `head` at most once, then `bytes` whenever some arrived, then `end`
/// exactly once. None may block; all may start and cancel requests.
public struct OutboundHandlers: Sendable {
    public var head: @Sendable (OutboundResponseHead) -> Void
    /// The bytes are lent for the duration of the call; never empty.
    public var bytes: @Sendable (UnsafeRawBufferPointer) -> ReceiveDemand
    /// nil: the response arrived whole by its framing.
    public var end: @Sendable (OutboundError?) -> Void

    public init(
        head: @escaping @Sendable (OutboundResponseHead) -> Void, bytes: @escaping @Sendable (UnsafeRawBufferPointer) -> ReceiveDemand,
        end: @escaping @Sendable (OutboundError?) -> Void
    ) {
        self.head = head
        self.bytes = bytes
        self.end = end
    }
}
