/// Bytes as pairs of hexadecimal digits (RFC 4648 §8): written in lower case, parsed in any case.
public enum Hexadecimal {
    /// Two lower-case digits for each byte.
    public static func encode(_ bytes: some Sequence<UInt8>) -> String {
        Array(bytes).withUnsafeBytes { encode($0) }
    }

    /// Sixteen lower-case digits, the most significant first.
    public static func encode(_ value: UInt64) -> String {
        withUnsafeBytes(of: value.bigEndian) { encode($0) }
    }

    /// Two lower-case digits for each byte. Not generic, so that calls from other modules need no specialisation.
    public static func encode(_ bytes: UnsafeRawBufferPointer) -> String {
        String(unsafeUninitializedCapacity: 2 * bytes.count) { text in
            // SAFETY: the loop initializes two bytes of text for each of `bytes`, which is the whole capacity.
            for (index, byte) in bytes.enumerated() {
                text.initializeElement(at: 2 * index, to: Byte.hexDigit(byte >> 4))
                text.initializeElement(at: 2 * index + 1, to: Byte.hexDigit(byte & 0xF))
            }
            return 2 * bytes.count
        }
    }

    /// nil for an odd number of digits and for any other character.
    public static func decode(_ digits: some Sequence<UInt8>) -> [UInt8]? {
        Array(digits).withUnsafeBytes { decode($0) }
    }

    /// The same for a buffer. Not generic, so that calls from other modules need no specialisation.
    public static func decode(_ digits: UnsafeRawBufferPointer) -> [UInt8]? {
        guard digits.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits.count / 2)
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let high = Byte.hexValue(digits[index]), let low = Byte.hexValue(digits[index + 1]) else { return nil }
            bytes.append(UInt8(truncatingIfNeeded: high << 4 | low))
        }
        return bytes
    }
}
