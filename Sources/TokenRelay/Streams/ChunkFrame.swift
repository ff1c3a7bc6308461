/// A reusable buffer that frames its content as one chunk of HTTP/1.1's chunked coding (RFC 9112 §7.1). Pure.
struct ChunkFrame {
    /// Bytes reserved before the content for the longest size line: eight hexadecimal digits and a line end.
    private static let room = 10
    private static let lineEnd = 2

    private(set) var bytes: [UInt8] = []
    /// The index of the first byte of the size line.
    private(set) var start = 0

    /// The chunk; empty when there is no content.
    var framed: ArraySlice<UInt8> { bytes[start...] }

    /// The content without the frame, for responses without chunked coding.
    var content: ArraySlice<UInt8> {
        bytes.count > Self.room ? bytes[Self.room..<(bytes.count - Self.lineEnd)] : []
    }

    /// Empties the buffer, calls `body`, which appends the content, and frames it.
    mutating func fill(_ body: (inout [UInt8]) -> Void) {
        bytes.removeAll(keepingCapacity: true)
        bytes.append(contentsOf: repeatElement(0, count: Self.room))
        body(&bytes)
        start = bytes.count
        var left = bytes.count - Self.room
        guard left > 0 else { return }
        start = Self.room - 2
        bytes[start] = UInt8(ascii: "\r")
        bytes[start + 1] = UInt8(ascii: "\n")
        while left > 0 {
            let digit = UInt8(left & 0xF)
            start -= 1
            bytes[start] = digit + (digit < 10 ? UInt8(ascii: "0") : UInt8(ascii: "a") - 10)
            left >>= 4
        }
        bytes.append(UInt8(ascii: "\r"))
        bytes.append(UInt8(ascii: "\n"))
    }

    /// Appends the zero-length chunk that ends the body, without trailers.
    mutating func finish() { bytes.append(contentsOf: "0\r\n\r\n".utf8) }
}
