/// The bits of entropy-coded data: of a byte the highest first; a zero follows a byte of ones, and is no data (§B.1.1.5).
struct JPEGBits {
    private let bytes: [UInt8]
    /// The offset of the next byte that is not begun.
    private(set) var offset: Int
    private var byte: UInt8 = 0
    /// The number of bits of `byte` that are not taken.
    private var left = 0

    init(_ bytes: [UInt8], at offset: Int) {
        self.bytes = bytes
        self.offset = offset
    }

    mutating func take(_ count: Int) throws(AvatarImage.Flaw) -> Int {
        var (bits, missing) = (0, count)
        while missing > 0 {
            if left == 0 { try begin() }
            let now = min(left, missing)
            left -= now
            missing -= now
            bits = bits << now | Int(byte >> UInt8(left)) & (1 << now - 1)
        }
        return bits
    }

    /// The bytes from `start` to that of the last bit taken; at least one bit was taken since `start`. The bits behind it pad the byte: encoders make
    /// them ones, and put a zero behind a byte of ones (§F.1.2.3).
    func padded(from start: Int) -> [UInt8] {
        let last = byte | (1 << UInt8(left) - 1)
        return Array(bytes[start..<offset - (byte == 0xFF ? 2 : 1)]) + (last == 0xFF ? [0xFF, 0] : [last])
    }

    /// Leaves out the rest of a byte, and begins again after a marker.
    mutating func align(at offset: Int) {
        left = 0
        self.offset = offset
    }

    private mutating func begin() throws(AvatarImage.Flaw) {
        guard offset < bytes.count else { throw .damaged }
        byte = bytes[offset]
        offset += 1
        left = 8
        guard byte == 0xFF else { return }
        // A marker: the data end before the pixels do.
        guard offset < bytes.count, bytes[offset] == 0 else { throw .damaged }
        offset += 1
    }
}
