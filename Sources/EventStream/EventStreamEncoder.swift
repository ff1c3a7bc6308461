import JSON

/// Appends server-sent events (WHATWG HTML §9.2) to a buffer that the caller reuses. Does not allocate once the buffer is large enough.
///
/// An event is `beginEvent`, one line of data that the caller appends (JSON from `JSONWriter` contains no line ends), and `endEvent`.
public enum EventStreamEncoder {
    /// Appends `id: N`, a line feed and `data: `.
    public static func beginEvent(id: Int, into output: inout [UInt8]) {
        append("id: ", into: &output)
        JSONWriter.appendDecimal(id, into: &output)
        append("\ndata: ", into: &output)
    }

    /// Appends the line feed that ends the data and the blank line that ends the event.
    public static func endEvent(into output: inout [UInt8]) {
        append("\n\n", into: &output)
    }

    /// Appends `: ping`, a comment that clients ignore. It prevents proxies from closing an idle connection.
    public static func appendPing(into output: inout [UInt8]) {
        append(": ping\n\n", into: &output)
    }

    /// Appends `retry: N`, the milliseconds that a client waits before it reconnects.
    public static func appendRetry(milliseconds: Int, into output: inout [UInt8]) {
        append("retry: ", into: &output)
        JSONWriter.appendDecimal(milliseconds, into: &output)
        append("\n\n", into: &output)
    }

    private static func append(_ literal: StaticString, into output: inout [UInt8]) {
        output.append(contentsOf: literal.utf8)
    }
}
