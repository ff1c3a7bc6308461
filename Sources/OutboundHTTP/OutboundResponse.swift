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

/// A complete response.
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

/// The result of `OutboundHandlers.bytes`: whether to deliver more.
public enum ReceiveDemand: Sendable {
    case more
    /// Deliver nothing more until `OutboundTransfer.resume()`. Over HTTP/1.1 the socket is not read meanwhile. Over HTTP/2, where other
    /// streams use the same connection, libcurl buffers what arrives, up to its window of 32 MB for each stream.
    case pause
}

/// The callbacks of a request, on the client's thread: `head` at most once, then `bytes` whenever bytes arrived, then `end` exactly once.
/// None may block; all may start and cancel requests.
public struct OutboundHandlers: Sendable {
    public var head: @Sendable (OutboundResponseHead) -> Void
    /// Never empty. The buffer is valid during the call.
    public var bytes: @Sendable (UnsafeRawBufferPointer) -> ReceiveDemand
    /// Nil: the response is complete by its framing.
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
