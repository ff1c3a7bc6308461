/// A zlib stream (RFC 1950) of DEFLATE blocks (RFC 1951), decompressed to a length that is known before, as that of a PNG's pixels is: memory
/// and time are bounded by it, whatever the stream contains.
public enum ZlibStream {
    /// The data; nil when the stream is damaged, makes more or less than `count` bytes, or has other bytes behind it.
    public static func decompress(_ bytes: [UInt8], count: Int) -> [UInt8]? {
        // Deflate with a window of at most 32 KiB, no dictionary, and a checksum of the header.
        guard bytes.count > 6, bytes[0] & 0x0F == 8, bytes[0] >> 4 <= 7, bytes[1] & 0x20 == 0,
            (Int(bytes[0]) << 8 | Int(bytes[1])) % 31 == 0
        else { return nil }
        var inflater = Inflater(BitReader(bytes[2..<bytes.count - 4]), count: count)
        guard (try? inflater.run()) != nil, inflater.bits.isAtEnd, inflater.written == count else { return nil }
        return bytes.suffix(4).reduce(0) { $0 << 8 | UInt32($1) } == adler32(inflater.output) ? inflater.output : nil
    }

    /// RFC 1950 §8.2.
    static func adler32(_ bytes: [UInt8]) -> UInt32 {
        bytes.withUnsafeBufferPointer { bytes in
            var low: UInt32 = 1
            var high: UInt32 = 0
            // After 5,552 bytes the sums could exceed 32 bits.
            for start in stride(from: 0, to: bytes.count, by: 5_552) {
                for index in start..<min(start + 5_552, bytes.count) {
                    low += UInt32(bytes[index])
                    high += low
                }
                low %= 65_521
                high %= 65_521
            }
            return high << 16 | low
        }
    }
}
