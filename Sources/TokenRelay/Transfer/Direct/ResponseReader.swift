/// An incremental parser of one HTTP/1 response (RFC 9112), for input that is split anywhere. Pure; body bytes are not copied out of the
/// input.
struct ResponseReader {
    /// The most bytes of a chunk's size line with its extensions, which are ignored.
    private static let longestSizeLine = 256

    private enum State {
        case head
        case body(left: Int)
        case untilClose
        /// The line with a chunk's size.
        case chunkSize
        case chunk(left: Int)
        /// The line end after a chunk.
        case chunkEnd
        case trailers(HeadReader.FieldCounter)
        case complete
    }

    private var state = State.head
    private var reader = HeadReader()
    /// The beginning of a line whose end has not arrived.
    private var partialLine: [UInt8] = []
    private var mayReuseConnection = false
    /// How long the peer keeps the idle connection open (`Keep-Alive: timeout`); nil when the peer does not announce it.
    private(set) var keepAlive: Duration?

    /// Whether any byte of the response has arrived.
    private(set) var hasBegun = false

    /// Whether the response is complete.
    var isComplete: Bool { if case .complete = state { true } else { false } }
    /// Whether the connection can take another request.
    var mayReuse: Bool { isComplete && mayReuseConnection }

    /// Parses the next input. Moves the body bytes in it to the front of `bytes`, without framing, and returns their number.
    mutating func read(_ bytes: UnsafeMutableRawBufferPointer, onHead: (TransferHead) -> Void) throws(HeadReader.Malformed) -> Int {
        if !bytes.isEmpty { hasBegun = true }
        var index = 0
        var kept = 0
        while index < bytes.count {
            switch state {
            case .head:
                guard let line = try line(in: bytes, &index, atMost: HeadReader.mostBytes) else { return kept }
                if let result = try line.read(of: bytes, { line throws(HeadReader.Malformed) in try reader.line(line) }) {
                    begin(result)
                    onHead(result.head)
                }
            case .body(let left):
                let count = min(left, bytes.count - index)
                Self.keep(bytes, &index, count, &kept)
                state = left == count ? .complete : .body(left: left - count)
            case .untilClose: Self.keep(bytes, &index, bytes.count - index, &kept)
            case .chunkSize:
                guard let line = try line(in: bytes, &index, atMost: Self.longestSizeLine) else { return kept }
                let size = try line.read(of: bytes, Self.size)
                state = size == 0 ? .trailers(HeadReader.FieldCounter()) : .chunk(left: size)
            case .chunk(let left):
                let count = min(left, bytes.count - index)
                Self.keep(bytes, &index, count, &kept)
                state = left == count ? .chunkEnd : .chunk(left: left - count)
            case .chunkEnd:
                guard let line = try line(in: bytes, &index, atMost: 1) else { return kept }
                guard try line.read(of: bytes, { $0.isEmpty }) else { throw HeadReader.Malformed() }
                state = .chunkSize
            case .trailers(var counter):
                guard let line = try line(in: bytes, &index, atMost: HeadReader.mostBytes) else { return kept }
                state = try line.read(of: bytes) { line throws(HeadReader.Malformed) in
                    guard !line.isEmpty else { return .complete }
                    _ = try HeadReader.field(line)
                    try counter.count(line)
                    return .trailers(counter)
                }
            case .complete:
                // Bytes after the response, with no request outstanding: do not reuse the connection.
                mayReuseConnection = false
                return kept
            }
        }
        return kept
    }

    /// The peer closed the connection. True when the response is complete, perhaps by this end.
    mutating func close() -> Bool {
        if case .untilClose = state { state = .complete }
        return isComplete
    }

    private mutating func begin(_ result: HeadReader.Result) {
        mayReuseConnection = result.mayReuse
        keepAlive = result.keepAlive
        switch result.framing {
        case .length(0): state = .complete
        case .length(let length): state = .body(left: length)
        case .chunked: state = .chunkSize
        case .untilClose: state = .untilClose
        }
    }

    /// A line without its line feed.
    private enum Line {
        /// A range of the input in which the line ended.
        case part(Range<Int>)
        /// Joined from several inputs.
        case joined([UInt8])

        /// Calls `body` with the line, without a carriage return at its end. `bytes`: the input in which the line ended.
        func read<Result>(
            of bytes: UnsafeMutableRawBufferPointer, _ body: (UnsafeRawBufferPointer) throws(HeadReader.Malformed) -> Result
        ) throws(HeadReader.Malformed) -> Result {
            switch self {
            case .part(let range): try body(Self.withoutReturn(UnsafeRawBufferPointer(rebasing: bytes[range])))
            case .joined(let line):
                try line.withUnsafeBufferPointer { line throws(HeadReader.Malformed) in
                    try body(Self.withoutReturn(UnsafeRawBufferPointer(line)))
                }
            }
        }

        private static func withoutReturn(_ line: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
            line.last == UInt8(ascii: "\r") ? UnsafeRawBufferPointer(rebasing: line.dropLast()) : line
        }
    }

    /// The next line; nil when its end has not arrived.
    private mutating func line(
        in bytes: UnsafeMutableRawBufferPointer, _ index: inout Int, atMost longest: Int
    ) throws(HeadReader.Malformed) -> Line? {
        let start = index
        while index < bytes.count, bytes[index] != UInt8(ascii: "\n") { index += 1 }
        guard partialLine.count + index - start <= longest + 1 else { throw HeadReader.Malformed() }
        let isWhole = index < bytes.count
        if !isWhole || !partialLine.isEmpty { partialLine.append(contentsOf: bytes[start..<index]) }
        guard isWhole else { return nil }
        index += 1
        if partialLine.isEmpty { return .part(start..<index - 1) }
        defer { partialLine = [] }
        return .joined(partialLine)
    }

    private static func keep(_ bytes: UnsafeMutableRawBufferPointer, _ index: inout Int, _ count: Int, _ kept: inout Int) {
        // SAFETY: both ranges are inside `bytes`, because `count` is at most what is left of it and `kept` is never after `index`. They may
        // overlap, which `copyMemory` allows.
        if let base = bytes.baseAddress, kept != index { (base + kept).copyMemory(from: base + index, byteCount: count) }
        index += count
        kept += count
    }

    /// The size of a chunk: hexadecimal digits, perhaps blanks (some servers pad the size), perhaps an extension (§7.1.1), which is
    /// ignored.
    private static func size(_ line: UnsafeRawBufferPointer) throws(HeadReader.Malformed) -> Int {
        var size = 0
        var digits = 0
        for (index, byte) in line.enumerated() {
            let digit: UInt8
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = byte - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = byte - UInt8(ascii: "a") + 10
            case UInt8(ascii: "A")...UInt8(ascii: "F"): digit = byte - UInt8(ascii: "A") + 10
            case UInt8(ascii: ";"), UInt8(ascii: " "), UInt8(ascii: "\t"):
                let next = line[index...].first { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") }
                guard digits > 0, next == nil || next == UInt8(ascii: ";"), !line.contains(UInt8(ascii: "\r")) else {
                    throw HeadReader.Malformed()
                }
                return size
            default: throw HeadReader.Malformed()
            }
            digits += 1
            // At most 60 bits, so that the value cannot overflow.
            guard digits <= 15 else { throw HeadReader.Malformed() }
            size = size << 4 | Int(digit)
        }
        guard digits > 0 else { throw HeadReader.Malformed() }
        return size
    }
}
