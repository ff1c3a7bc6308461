/// An incremental reader of server-sent events (WHATWG HTML §9.2.6).
///
/// Bytes may be cut anywhere: inside CRLF, a UTF-8 character, or a field name. Lines end with CR, LF or CRLF; an event
/// ended by CR is dispatched at once, without waiting for a LF that may follow. A line that lies whole in the fed bytes
/// is copied once, into the event's data, and no `String` is made from data.
public struct EventStreamParser: Sendable {
    /// What `finish` does with a last event that lacks its blank line.
    public enum IncompleteEvent: Sendable {
        /// Some providers close right after the last line: hand the event over. It may be cut in its middle, so the
        /// receiver must be able to refuse its data.
        case deliver
        /// What the standard asks for.
        case discard
    }

    /// The bound of a line and of one event's data if the caller names none: 1 MiB.
    public static let defaultLimit = 1 << 20

    /// The last `id:` of a finished event, kept over events without one, and over `finish`: what a client sends back as
    /// `Last-Event-ID`. Empty when there was none.
    public private(set) var lastEventID = ""
    /// The last `retry:` seen, in milliseconds, also when it stood in a block without data.
    public private(set) var reconnectionTime: Int?

    let limit: Int
    /// The beginning of a line whose end has not arrived.
    private var partialLine: [UInt8] = []
    private var data: [UInt8] = []
    private var hasData = false
    private var event: String?
    private var id: String?
    private var retry: Int?
    /// The last event name: a stream repeats few names, and a name over 15 bytes costs an allocation.
    private var knownName = ""
    private var lastByteWasCR = false
    private var isFirstLine = true
    private var failure: EventStreamError?

    /// - Parameter limit: the most bytes of one line, and of one event's joined data.
    public init(limit: Int = Self.defaultLimit) {
        self.limit = limit
    }

    /// Reads the next bytes and calls `onEvent` for each event that they complete, in order, before it returns.
    ///
    /// After a throw the parser stays failed: every further call throws the same error.
    /// - Parameter onAside: receives comments and unknown lines.
    public mutating func feed(
        _ bytes: UnsafeRawBufferPointer,
        onAside: (EventStreamAside) -> Void = { _ in },
        _ onEvent: (ServerSentEvent) -> Void
    ) throws(EventStreamError) {
        if let failure { throw failure }
        // SAFETY: the buffer is read during this call only; `lineEnd` stays inside it, and `start` is compared before each use.
        var start = 0
        if lastByteWasCR, let first = bytes.first {
            lastByteWasCR = false
            if first == Byte.lineFeed { start = 1 }
        }
        while start < bytes.count {
            guard let end = Self.lineEnd(in: bytes, from: start) else {
                try checkLimit(partialLine.count + bytes.count - start)
                partialLine.append(contentsOf: bytes[start...])
                return
            }
            try checkLimit(partialLine.count + end - start)
            try endLine(UnsafeRawBufferPointer(rebasing: bytes[start..<end]), onAside, onEvent)
            start = end + 1
            if bytes[end] == Byte.carriageReturn {
                if start == bytes.count {
                    lastByteWasCR = true
                } else if bytes[start] == Byte.lineFeed {
                    start += 1
                }
            }
        }
    }

    /// The same for any bytes; an array is read in place.
    public mutating func feed(
        _ bytes: some Sequence<UInt8>,
        onAside: (EventStreamAside) -> Void = { _ in },
        _ onEvent: (ServerSentEvent) -> Void
    ) throws(EventStreamError) {
        try Array(bytes).withUnsafeBufferPointer { (buffer) throws(EventStreamError) in
            try feed(UnsafeRawBufferPointer(buffer), onAside: onAside, onEvent)
        }
    }

    /// Ends the stream. Afterwards the parser is as new, but remembers `lastEventID` and `reconnectionTime`.
    public mutating func finish(
        _ incomplete: IncompleteEvent = .deliver,
        onAside: (EventStreamAside) -> Void = { _ in },
        _ onEvent: (ServerSentEvent) -> Void
    ) throws(EventStreamError) {
        if let failure { throw failure }
        if incomplete == .deliver {
            if !partialLine.isEmpty { try endLine(UnsafeRawBufferPointer(start: nil, count: 0), onAside, onEvent) }
            dispatch(onEvent)
        }
        let finished = self
        self = EventStreamParser(limit: limit)
        lastEventID = finished.lastEventID
        reconnectionTime = finished.reconnectionTime
    }
}

extension EventStreamParser {
    /// Nothing of an event, and nothing that bears on the next line, has been read.
    var isBetweenEvents: Bool {
        partialLine.isEmpty && !hasData && !isFirstLine && !lastByteWasCR && event == nil && id == nil && retry == nil && failure == nil
    }

    private static func lineEnd(in bytes: UnsafeRawBufferPointer, from start: Int) -> Int? {
        var index = start
        while index < bytes.count {
            let byte = bytes[index]
            if byte == Byte.lineFeed || byte == Byte.carriageReturn { return index }
            index += 1
        }
        return nil
    }

    private mutating func checkLimit(_ count: Int) throws(EventStreamError) {
        guard count > limit else { return }
        let error = EventStreamError.tooLong(limit: limit)
        failure = error
        throw error
    }

    /// A line is complete; `rest` is what follows `partialLine`.
    private mutating func endLine(
        _ rest: UnsafeRawBufferPointer, _ onAside: (EventStreamAside) -> Void, _ onEvent: (ServerSentEvent) -> Void
    ) throws(EventStreamError) {
        if partialLine.isEmpty {
            try interpret(rest, onAside, onEvent)
            return
        }
        var line: [UInt8] = []
        swap(&line, &partialLine)
        line.append(contentsOf: rest)
        try line.withUnsafeBufferPointer { (buffer) throws(EventStreamError) in
            try interpret(UnsafeRawBufferPointer(buffer), onAside, onEvent)
        }
        line.removeAll(keepingCapacity: true)
        swap(&line, &partialLine)
    }

    private mutating func interpret(
        _ wholeLine: UnsafeRawBufferPointer, _ onAside: (EventStreamAside) -> Void, _ onEvent: (ServerSentEvent) -> Void
    ) throws(EventStreamError) {
        var line = wholeLine
        if isFirstLine {
            isFirstLine = false
            if line.starts(with: Byte.byteOrderMark) { line = UnsafeRawBufferPointer(rebasing: line[3...]) }
        }
        guard !line.isEmpty else { return dispatch(onEvent) }
        let colon = line.firstIndex(of: Byte.colon) ?? line.count
        var valueStart = min(colon + 1, line.count)
        if valueStart < line.count, line[valueStart] == Byte.space { valueStart += 1 }
        let value = UnsafeRawBufferPointer(rebasing: line[valueStart...])
        let name = UnsafeRawBufferPointer(rebasing: line[..<colon])
        if name.matches("data") {
            try appendData(value)
        } else if name.isEmpty {
            onAside(.comment(Array(value)))
        } else if name.matches("event") {
            setEventName(value)
        } else if name.matches("id") {
            if !value.contains(0) { id = String(decoding: value, as: UTF8.self) }
        } else if name.matches("retry") {
            setRetry(value)
        } else {
            onAside(.unknownLine(Array(line)))
        }
    }

    private mutating func appendData(_ value: UnsafeRawBufferPointer) throws(EventStreamError) {
        try checkLimit(data.count + value.count + (hasData ? 1 : 0))
        if hasData { data.append(Byte.lineFeed) }
        hasData = true
        data.append(contentsOf: value)
    }

    private mutating func setEventName(_ value: UnsafeRawBufferPointer) {
        if !knownName.utf8.elementsEqual(value) { knownName = String(decoding: value, as: UTF8.self) }
        event = knownName.isEmpty ? nil : knownName
    }

    /// Only digits count; a number beyond `Int` is ignored like any other text.
    private mutating func setRetry(_ value: UnsafeRawBufferPointer) {
        guard value.allSatisfy({ Byte.isDigit($0) }), let milliseconds = Int(String(decoding: value, as: UTF8.self)) else { return }
        retry = milliseconds
        reconnectionTime = milliseconds
    }

    private mutating func dispatch(_ onEvent: (ServerSentEvent) -> Void) {
        if let id { lastEventID = id }
        if hasData {
            onEvent(ServerSentEvent(event: event, data: data, id: id, retry: retry))
            data.removeAll(keepingCapacity: true)
            hasData = false
        }
        event = nil
        id = nil
        retry = nil
    }
}

extension UnsafeRawBufferPointer {
    /// Whether the bytes are exactly those of an ASCII literal.
    fileprivate func matches(_ literal: StaticString) -> Bool {
        elementsEqual(literal.utf8)
    }
}
