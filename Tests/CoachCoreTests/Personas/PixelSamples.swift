/// zlib streams of pixels, made without a compressor.
enum PixelSamples {
    /// Zeros as a run of one byte: four bytes of the stream make about 640.
    static func zeros(_ count: Int) -> [UInt8] {
        var bits: [Bool] = []
        func append(_ text: StaticString) { text.withUTF8Buffer { bits += $0.map { $0 == UInt8(ascii: "1") } } }
        // The last block, with the fixed codes (RFC 1951 §3.2.6): the byte 0, then 258 bytes again, then single ones, and the end.
        append("110")
        append("00110000")
        for _ in 0..<(count - 1) / 258 { append("1100010100000") }
        for _ in 0..<(count - 1) % 258 { append("00110000") }
        append("0000000")
        var bytes = [UInt8](repeating: 0, count: (bits.count + 7) / 8)
        for (index, bit) in bits.enumerated() where bit { bytes[index / 8] |= 1 << (index % 8) }
        return [0x78, 0x01] + bytes + checksum(low: 1, high: count % 65_521)
    }

    /// The bytes as they are, at most 65,535.
    static func stored(_ data: [UInt8]) -> [UInt8] {
        let length = [UInt8(data.count & 0xFF), UInt8(data.count >> 8)]
        var low = 1
        var high = 0
        for byte in data {
            low = (low + Int(byte)) % 65_521
            high = (high + low) % 65_521
        }
        return [0x78, 0x01, 1] + length + length.map(~) + data + checksum(low: low, high: high)
    }

    private static func checksum(low: Int, high: Int) -> [UInt8] { [high >> 8, high & 0xFF, low >> 8, low & 0xFF].map { UInt8($0) } }
}
