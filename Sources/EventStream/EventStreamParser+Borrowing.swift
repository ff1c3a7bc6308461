#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// The hot path: passes the data of whole events to the caller without copying it.
extension EventStreamParser {
    /// Parses the next bytes and calls `onData` with the data of each event that they complete, in order. Ignores names and ids.
    ///
    /// The data is valid during the call. The result is the same as with `feed`. An event that is one `data:` line and complete in `bytes`,
    /// as nearly all events of model providers are, is found by `memchr` and not copied; from the first other event on `feed` parses the
    /// rest.
    /// - Parameter onUnknownLine: gets each line that is neither a field nor a comment, without its end. The standard ignores them.
    public mutating func feedData(
        _ bytes: UnsafeRawBufferPointer, _ onData: (UnsafeBufferPointer<UInt8>) -> Void,
        onUnknownLine: (UnsafeRawBufferPointer) -> Void = { _ in }
    ) throws(EventStreamError) {
        var rest = bytes
        if isBetweenEvents {
            while let data = Self.takeSingleLineEvent(from: &rest, limit: limit) { onData(data) }
            if rest.isEmpty { return }
        }
        try feed(rest, { event in event.data.withUnsafeBufferPointer(onData) }, onUnknownLine: onUnknownLine)
    }

    /// Removes `data:value⏎⏎` from the front of `bytes` and returns the value; returns nil and removes nothing if `bytes` starts
    /// differently.
    // SAFETY: the comparisons before each use keep every pointer between the buffer's start and its count; the result is a part of `bytes`
    // and is not used longer than `bytes` is.
    private static func takeSingleLineEvent(from bytes: inout UnsafeRawBufferPointer, limit: Int) -> UnsafeBufferPointer<UInt8>? {
        let field: StaticString = "data:"
        let name = field.utf8CodeUnitCount
        guard bytes.count > name, let start = bytes.baseAddress, memcmp(start, field.utf8Start, name) == 0 else { return nil }
        guard let lineEnd = memchr(start, Int32(LineByte.lineFeed), bytes.count) else { return nil }
        let line = UnsafeRawPointer(lineEnd) - start
        guard line <= limit, line + 1 < bytes.count, bytes[line + 1] == LineByte.lineFeed,
            memchr(start, Int32(LineByte.carriageReturn), line) == nil
        else { return nil }
        let value = line > name && bytes[name] == LineByte.space ? name + 1 : name
        bytes = UnsafeRawBufferPointer(rebasing: bytes[(line + 2)...])
        return UnsafeBufferPointer(start: (start + value).assumingMemoryBound(to: UInt8.self), count: line - value)
    }
}
