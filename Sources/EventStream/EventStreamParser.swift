import JSON

/// An incremental parser of server-sent events (WHATWG HTML §9.2.6). Comments are ignored, and so are unknown fields, unless the caller asks for them.
///
/// The input may be split anywhere: inside CRLF, a UTF-8 character, or a field name. Lines end with CR, LF or CRLF; an event
/// ended by CR is dispatched at once, without waiting for a LF that may follow. A line that lies whole in the input
/// is copied once, into the event's data, and data is never converted to a `String`.
public struct EventStreamParser: Sendable {
    /// The default limit of a line and of one event's data: 1 MiB.
    public static let defaultLimit = 1 << 20

    let limit: Int
    /// The beginning of a line whose end has not arrived.
    private var partialLine: [UInt8] = []
    private var data: [UInt8] = []
    private var hasData = false
    private var event: String?
    private var id: String?
    private var retry: Int?
    /// The last event name. Reused while it repeats, because a `String` over 15 bytes costs an allocation.
    private var lastName = ""
    private var lastByteWasCR = false
    private var isFirstLine = true
    private var failure: EventStreamError?

    /// - Parameter limit: the most bytes of one line, and of one event's joined data; more is an error.
    public init(limit: Int = Self.defaultLimit) {
        self.limit = limit
    }

    /// Parses the next bytes and calls `onEvent` for each event that they complete, in order, before it returns.
    ///
    /// After an error the parser stays failed: every further call throws the same error.
    public mutating func feed(_ bytes: UnsafeRawBufferPointer, _ onEvent: (ServerSentEvent) -> Void) throws(EventStreamError) {
        try feed(bytes, onEvent, onUnknownLine: { _ in })
    }

    mutating func feed(
        _ bytes: UnsafeRawBufferPointer, _ onEvent: (ServerSentEvent) -> Void, onUnknownLine: (UnsafeRawBufferPointer) -> Void
    ) throws(EventStreamError) {
        if let failure { throw failure }
        // SAFETY: the buffer is read during this call only; `lineEnd` stays inside it, and `start` is compared before each use.
        var start = 0
        if lastByteWasCR, let first = bytes.first {
            lastByteWasCR = false
            if first == LineByte.lineFeed { start = 1 }
        }
        while start < bytes.count {
            guard let end = Self.lineEnd(in: bytes, from: start) else {
                try checkLimit(partialLine.count + bytes.count - start)
                partialLine.append(contentsOf: bytes[start...])
                return
            }
            try checkLimit(partialLine.count + end - start)
            try endLine(UnsafeRawBufferPointer(rebasing: bytes[start..<end]), onEvent, onUnknownLine)
            start = end + 1
            if bytes[end] == LineByte.carriageReturn {
                if start == bytes.count {
                    lastByteWasCR = true
                } else if bytes[start] == LineByte.lineFeed {
                    start += 1
                }
            }
        }
    }

    /// The same for a sequence of bytes. An array is not copied.
    public mutating func feed(_ bytes: some Sequence<UInt8>, _ onEvent: (ServerSentEvent) -> Void) throws(EventStreamError) {
        try Array(bytes).withUnsafeBufferPointer { (buffer) throws(EventStreamError) in
            try feed(UnsafeRawBufferPointer(buffer), onEvent)
        }
    }

    /// Ends the stream and resets the parser.
    ///
    /// Delivers a last event that lacks its blank line, although the standard discards it: some providers close the connection right
    /// after the last line. That event may be truncated, so the caller must check its data. `onUnknownLine`: as of `feedData`.
    public mutating func finish(
        _ onEvent: (ServerSentEvent) -> Void, onUnknownLine: (UnsafeRawBufferPointer) -> Void = { _ in }
    ) throws(EventStreamError) {
        if let failure { throw failure }
        if !partialLine.isEmpty { try endLine(UnsafeRawBufferPointer(start: nil, count: 0), onEvent, onUnknownLine) }
        dispatch(onEvent)
        self = EventStreamParser(limit: limit)
    }
}

extension EventStreamParser {
    /// Whether the parser holds no part of an event and nothing that affects the next line.
    var isBetweenEvents: Bool {
        partialLine.isEmpty && !hasData && !isFirstLine && !lastByteWasCR && event == nil && id == nil && retry == nil && failure == nil
    }

    private static func lineEnd(in bytes: UnsafeRawBufferPointer, from start: Int) -> Int? {
        var index = start
        while index < bytes.count {
            let byte = bytes[index]
            if byte == LineByte.lineFeed || byte == LineByte.carriageReturn { return index }
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

    /// Interprets a complete line, which is `partialLine` followed by `rest`.
    private mutating func endLine(
        _ rest: UnsafeRawBufferPointer, _ onEvent: (ServerSentEvent) -> Void, _ onUnknownLine: (UnsafeRawBufferPointer) -> Void
    ) throws(EventStreamError) {
        if partialLine.isEmpty {
            try interpret(rest, onEvent, onUnknownLine)
            return
        }
        var line: [UInt8] = []
        swap(&line, &partialLine)
        line.append(contentsOf: rest)
        try line.withUnsafeBufferPointer { (buffer) throws(EventStreamError) in
            try interpret(UnsafeRawBufferPointer(buffer), onEvent, onUnknownLine)
        }
        line.removeAll(keepingCapacity: true)
        swap(&line, &partialLine)
    }

    private mutating func interpret(
        _ wholeLine: UnsafeRawBufferPointer, _ onEvent: (ServerSentEvent) -> Void, _ onUnknownLine: (UnsafeRawBufferPointer) -> Void
    ) throws(EventStreamError) {
        var line = wholeLine
        if isFirstLine {
            isFirstLine = false
            if line.starts(with: LineByte.byteOrderMark) { line = UnsafeRawBufferPointer(rebasing: line[3...]) }
        }
        guard !line.isEmpty else { return dispatch(onEvent) }
        let colon = line.firstIndex(of: LineByte.colon) ?? line.count
        var valueStart = min(colon + 1, line.count)
        if valueStart < line.count, line[valueStart] == LineByte.space { valueStart += 1 }
        let value = UnsafeRawBufferPointer(rebasing: line[valueStart...])
        let name = UnsafeRawBufferPointer(rebasing: line[..<colon])
        if name.matches("data") {
            try appendData(value)
        } else if name.matches("event") {
            setEventName(value)
        } else if name.matches("id") {
            if !value.contains(0) { id = String(decoding: value, as: UTF8.self) }
        } else if name.matches("retry") {
            setRetry(value)
        } else if !name.isEmpty {
            onUnknownLine(line)
        }
    }

    private mutating func appendData(_ value: UnsafeRawBufferPointer) throws(EventStreamError) {
        try checkLimit(data.count + value.count + (hasData ? 1 : 0))
        if hasData { data.append(LineByte.lineFeed) }
        hasData = true
        data.append(contentsOf: value)
    }

    private mutating func setEventName(_ value: UnsafeRawBufferPointer) {
        if !lastName.utf8.elementsEqual(value) { lastName = String(decoding: value, as: UTF8.self) }
        event = lastName.isEmpty ? nil : lastName
    }

    /// Ignores a value that is not all digits (WHATWG HTML §9.2.6) or does not fit into `Int`.
    private mutating func setRetry(_ value: UnsafeRawBufferPointer) {
        guard value.allSatisfy({ LineByte.isDigit($0) }), let milliseconds = Int(String(decoding: value, as: UTF8.self)) else { return }
        retry = milliseconds
    }

    private mutating func dispatch(_ onEvent: (ServerSentEvent) -> Void) {
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
    fileprivate func matches(_ literal: StaticString) -> Bool { elementsEqual(literal.utf8) }
}
