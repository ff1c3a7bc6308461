/// One dispatched event of a `text/event-stream`.
///
/// The parser reuses the buffer of `data` for the next event unless the receiver keeps the event beyond its callback, which costs
/// one allocation.
public struct ServerSentEvent: Sendable, Equatable {
    /// The `event:` line of this event; nil when it was absent or empty (type "message" in the standard).
    public var event: String?
    /// The `data:` lines joined by LF. Unchecked bytes: they may be malformed UTF-8.
    public var data: [UInt8]
    /// The `id:` line inside this event; nil when it was absent, also when an earlier event had one.
    public var id: String?
    /// The `retry:` line inside this event, in milliseconds.
    public var retry: Int?

    public init(event: String? = nil, data: [UInt8], id: String? = nil, retry: Int? = nil) {
        self.event = event
        self.data = data
        self.id = id
        self.retry = retry
    }
}

/// Why a stream cannot be parsed further.
public enum EventStreamError: Error, Sendable, Equatable {
    /// A line, or the joined data of one event, is longer than the parser's limit in bytes.
    case tooLong(limit: Int)
}
