#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// The hot path: the data of whole events, lent out of the bytes that were fed.
extension EventStreamParser {
    /// Reads the next bytes and lends `onData` the data of each event that they complete, in order; names, ids and asides are passed over.
    ///
    /// It reads what `feed` reads. An event that is one `data:` line and lies whole in `bytes`, as nearly all of a model's do, is not
    /// copied: two searches by the C library find its end. From the first event on that is not, `feed` reads the rest.
    public mutating func feedData(
        _ bytes: UnsafeRawBufferPointer, _ onData: (UnsafeBufferPointer<UInt8>) -> Void
    ) throws(EventStreamError) {
        var rest = bytes
        if isBetweenEvents {
            while let data = Self.takeSingleLineEvent(from: &rest, limit: limit) { onData(data) }
            if rest.isEmpty { return }
        }
        try feed(rest) { event in event.data.withUnsafeBufferPointer(onData) }
    }

    /// The value of `data:value⏎⏎` at the start of `bytes`, which is then cut off; nil, and nothing cut off, if anything else stands there.
    // SAFETY: every pointer made here lies between the buffer's start and its count, which the comparisons before show; what is returned is
    // a part of `bytes` and lent no longer than they are.
    private static func takeSingleLineEvent(from bytes: inout UnsafeRawBufferPointer, limit: Int) -> UnsafeBufferPointer<UInt8>? {
        let field: StaticString = "data:"
        let name = field.utf8CodeUnitCount
        guard bytes.count > name, let start = bytes.baseAddress, memcmp(start, field.utf8Start, name) == 0 else { return nil }
        guard let lineEnd = memchr(start, Int32(Byte.lineFeed), bytes.count) else { return nil }
        let line = UnsafeRawPointer(lineEnd) - start
        guard line <= limit, line + 1 < bytes.count, bytes[line + 1] == Byte.lineFeed,
            memchr(start, Int32(Byte.carriageReturn), line) == nil
        else { return nil }
        let value = line > name && bytes[name] == Byte.space ? name + 1 : name
        bytes = UnsafeRawBufferPointer(rebasing: bytes[(line + 2)...])
        return UnsafeBufferPointer(start: (start + value).assumingMemoryBound(to: UInt8.self), count: line - value)
    }
}
