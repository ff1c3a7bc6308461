/// Appends server-sent events to a buffer that the caller reuses.
///
/// The hot path is `beginEvent`, one JSON object written in place, `endEvent`. JSON from `JSONWriter` has no line ends;
/// for other data use `appendEvent(name:id:data:into:)`.
public enum EventStreamEncoder {
    /// `id: N` and the opening of the data line: `data: `.
    public static func beginEvent(id: Int, into output: inout [UInt8]) {
        append("id: ", into: &output)
        JSONWriter.appendDecimal(id, into: &output)
        append("\ndata: ", into: &output)
    }

    /// The opening of a data line without an id: `data: `.
    public static func beginEvent(into output: inout [UInt8]) {
        append("data: ", into: &output)
    }

    /// The end of the data line and the blank line.
    public static func endEvent(into output: inout [UInt8]) {
        append("\n\n", into: &output)
    }

    /// A whole event. Line ends inside `data` become several `data:` lines (a CR or CRLF arrives as LF); line ends in
    /// `name` are dropped, so that no caller's text can forge a field.
    public static func appendEvent(name: String? = nil, id: Int? = nil, data: some Sequence<UInt8>, into output: inout [UInt8]) {
        if let name {
            append("event: ", into: &output)
            output.append(contentsOf: name.utf8.filter { $0 != Byte.lineFeed && $0 != Byte.carriageReturn })
            output.append(Byte.lineFeed)
        }
        if let id {
            append("id: ", into: &output)
            JSONWriter.appendDecimal(id, into: &output)
            output.append(Byte.lineFeed)
        }
        append("data: ", into: &output)
        var lastWasCR = false
        for byte in data {
            defer { lastWasCR = byte == Byte.carriageReturn }
            if byte == Byte.lineFeed, lastWasCR { continue }
            if byte == Byte.lineFeed || byte == Byte.carriageReturn {
                append("\ndata: ", into: &output)
            } else {
                output.append(byte)
            }
        }
        append("\n\n", into: &output)
    }

    /// `: ping`, a comment that keeps the line alive.
    public static func appendPing(into output: inout [UInt8]) {
        append(": ping\n\n", into: &output)
    }

    /// `retry: N`, the pause in milliseconds before a client connects again.
    public static func appendRetry(milliseconds: Int, into output: inout [UInt8]) {
        append("retry: ", into: &output)
        JSONWriter.appendDecimal(milliseconds, into: &output)
        append("\n\n", into: &output)
    }

    private static func append(_ literal: StaticString, into output: inout [UInt8]) {
        output.append(contentsOf: literal.utf8)
    }
}
