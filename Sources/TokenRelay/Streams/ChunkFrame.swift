/// One chunk of HTTP/1.1's chunked coding (RFC 9112 §7.1) around what is appended between `open` and `close`. Pure; the buffer is reused.
struct ChunkFrame {
    /// Room for the longest size line: eight hexadecimal digits and a line end.
    private static let room = 10
    private static let lineEnd = 2

    private(set) var bytes: [UInt8] = []
    /// Where the frame begins.
    private(set) var start = 0

    /// The framed bytes; empty when nothing was appended.
    var framed: ArraySlice<UInt8> { bytes[start...] }

    /// What was appended, without the frame around it.
    var content: ArraySlice<UInt8> {
        bytes.count > Self.room ? bytes[Self.room..<(bytes.count - Self.lineEnd)] : []
    }

    /// Empties the buffer, calls `body` to append to it, and frames what it appended.
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

    /// Appends the last chunk, without trailers.
    mutating func finish() { bytes.append(contentsOf: "0\r\n\r\n".utf8) }
}
