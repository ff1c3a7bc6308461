import CoachCore
import OutboundHTTP

/// One HTTP request of a `TransferClient`, whose response is delivered as it arrives.
public struct TransferRequest: Sendable {
    /// Absolute, `http` or `https`.
    public var url: String
    /// Sent in this order. With a malformed header the request fails before it is sent.
    public var headers: [TransferHeader]
    /// Nil: `GET`, otherwise `POST`.
    public var body: [UInt8]?
    /// Time limit for name lookup, connecting, proxy and TLS together. The caller enforces all later limits, with `Transfer.cancel()`.
    public var connectTimeout: Duration
    /// PEM file of the certificate authorities to trust; nil: the system's.
    public var authorityFile: String?
    /// Which driver runs the request.
    public var route: TransferRoute

    public init(
        url: String, headers: [TransferHeader] = [], body: [UInt8]? = nil, connectTimeout: Duration = .seconds(1),
        authorityFile: String? = nil, route: TransferRoute = .direct
    ) {
        self.url = url
        self.headers = headers
        self.body = body
        self.connectTimeout = connectTimeout
        self.authorityFile = authorityFile
        self.route = route
    }
}

extension TransferRequest {
    /// Adds the header of a traced call.
    public mutating func trace(_ traceparent: String?) {
        if let traceparent { headers.append(TransferHeader("traceparent", traceparent)) }
    }
}

/// One header field.
public struct TransferHeader: Sendable, Equatable {
    public var name: String
    public var value: String

    public init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }

    /// Whether the name is not a token (RFC 9110 §5.6.2), or the value has a control character.
    public var isMalformed: Bool { HTTPHeader(name, value).isMalformed }
}

/// Status and headers of the final response; interim ones (1xx) and trailers are not reported.
public struct TransferHead: Sendable, Equatable {
    public var status: Int
    /// Names in lower case, in the order received; number and size are limited (`HeadReader`).
    public var headers: [TransferHeader]

    public init(status: Int, headers: [TransferHeader] = []) {
        self.status = status
        self.headers = headers
    }

    /// The first value of a header; `name` in lower case.
    public subscript(name: String) -> String? { headers.first { $0.name == name }?.value }
}

/// The callbacks of a transfer, on the reactor's thread: `head` at most once, then `bytes` whenever bytes arrived, with all of one wake-up
/// together, then `end` exactly once. None may block; all may start and cancel transfers.
public struct TransferHandlers: Sendable {
    public var head: @Sendable (TransferHead) -> Void
    /// Never empty. The buffer is valid during the call.
    public var bytes: @Sendable (UnsafeRawBufferPointer) -> Void
    public var end: @Sendable (TransferEnd) -> Void

    public init(
        head: @escaping @Sendable (TransferHead) -> Void, bytes: @escaping @Sendable (UnsafeRawBufferPointer) -> Void,
        end: @escaping @Sendable (TransferEnd) -> Void
    ) {
        self.head = head
        self.bytes = bytes
        self.end = end
    }
}
