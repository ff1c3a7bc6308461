/// One dispatched event of a `text/event-stream`.
///
/// `data` is handed over without a copy. A receiver that lets go of the event before its callback returns leaves the
/// buffer to the parser, which uses it again for the next event; a receiver that keeps it costs one allocation.
public struct ServerSentEvent: Sendable, Equatable {
    /// The `event:` line of this event, nil when there was none or it was empty (the standard then says "message").
    public var event: String?
    /// The `data:` lines joined by LF, as the bytes that arrived.
    public var data: [UInt8]
    /// The `id:` line inside this event. The sticky value of the standard is `EventStreamParser.lastEventID`.
    public var id: String?
    /// The `retry:` line inside this event, in milliseconds.
    public var retry: Int?

    /// An event from its parts.
    public init(event: String? = nil, data: [UInt8], id: String? = nil, retry: Int? = nil) {
        self.event = event
        self.data = data
        self.id = id
        self.retry = retry
    }
}

/// A line that belongs to no event. Ignored by the standard, but not without meaning for a careful client.
public enum EventStreamAside: Sendable, Equatable {
    /// A comment without its colon and one leading space: `: ping` is `ping`. Sign of life of a silent sender.
    case comment([UInt8])
    /// A whole line whose field name the standard does not know. Gemini reports an error in mid-stream as a bare line of
    /// JSON without `data:`.
    case unknownLine([UInt8])
}

/// Why a stream cannot be read on.
public enum EventStreamError: Error, Sendable, Equatable {
    /// A line, or the joined data of one event, is longer than the parser's bound (bytes).
    case tooLong(limit: Int)
}
