/// Decodes the body of an HTTP/1.1 response incrementally: removes the framing and passes on the bytes.
struct BodyReader {
    enum Framing {
        case chunked
        case length(Int)
        /// Ends with the connection.
        case open
    }

    private enum State {
        case size, extensions, data, dataEnd, trailer, counted, open
    }

    private var state = State.open
    private var left = 0
    private var lineLength = 0

    init(_ framing: Framing = .open) {
        switch framing {
        case .chunked: state = .size
        case .length(let length): (state, left) = (.counted, length)
        case .open: state = .open
        }
    }

    var endsWithConnection: Bool { state == .open }

    /// Calls `data` with the bytes of the body. Returns true when the body has ended; bytes after the end are ignored.
    @inline(__always)
    mutating func take(_ bytes: UnsafeRawBufferPointer, data: (UnsafeRawBufferPointer) -> Void) -> Bool {
        var index = 0
        while index < bytes.count {
            switch state {
            case .open:
                data(UnsafeRawBufferPointer(rebasing: bytes[index...]))
                return false
            case .counted, .data:
                let count = min(left, bytes.count - index)
                data(UnsafeRawBufferPointer(rebasing: bytes[index..<index + count]))
                index += count
                left -= count
                guard left == 0 else { return false }
                if state == .counted { return true }
                state = .dataEnd
            case .dataEnd:
                if bytes[index] == Self.lineFeed { (state, left) = (.size, 0) }
                index += 1
            case .size:
                let byte = bytes[index]
                index += 1
                if let digit = Self.hexadecimal(byte) {
                    left = left << 4 | digit
                } else {
                    state = byte == Self.lineFeed ? afterSize : .extensions
                }
            case .extensions:
                if bytes[index] == Self.lineFeed { state = afterSize }
                index += 1
            case .trailer:
                let byte = bytes[index]
                index += 1
                if byte == Self.lineFeed {
                    if lineLength == 0 { return true }
                    lineLength = 0
                } else if byte != Self.carriageReturn {
                    lineLength += 1
                }
            }
        }
        if case .counted = state { return left == 0 }
        return false
    }

    private var afterSize: State { left == 0 ? .trailer : .data }

    private static let lineFeed = UInt8(ascii: "\n")
    private static let carriageReturn = UInt8(ascii: "\r")

    private static func hexadecimal(_ byte: UInt8) -> Int? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): Int(byte) - 48
        case UInt8(ascii: "a")...UInt8(ascii: "f"): Int(byte) - 87
        case UInt8(ascii: "A")...UInt8(ascii: "F"): Int(byte) - 55
        default: nil
        }
    }
}
