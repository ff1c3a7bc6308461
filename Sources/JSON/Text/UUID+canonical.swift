#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

// A turn has a dozen identifiers. Foundation parses and formats them with sscanf and snprintf and opens /dev/urandom for each new one;
// these functions are faster.
extension UUID {
    /// A new random (version 4) identifier.
    public static func random() -> UUID {
        var bits = UInt128.random(in: .min ... .max)
        // RFC 9562 §5.4: version 4 in bits 48 to 51, variant 2 in bits 64 and 65.
        bits = bits & ~(0xF << 76) | 4 << 76
        bits = bits & ~(3 << 62) | 2 << 62
        return UUID(bits)
    }

    init(_ bits: UInt128) {
        self.init(uuid: withUnsafeBytes(of: bits.bigEndian) { $0.loadUnaligned(as: uuid_t.self) })
    }

    /// Parses the canonical 36-character form, any case; nil for any other text.
    public init?(canonical text: String) {
        var text = text
        guard let id = text.withUTF8({ Self(canonical: UnsafeRawBufferPointer($0)) }) else { return nil }
        self = id
    }

    /// As `init(canonical:)` of a text in UTF-8.
    public init?(canonical text: UnsafeRawBufferPointer) {
        guard let bits = Self.bits(canonical: text) else { return nil }
        self.init(bits)
    }

    /// The canonical 36-character form in lower case.
    public var canonicalText: String {
        let bits = UInt128(bigEndian: withUnsafeBytes(of: uuid) { $0.loadUnaligned(as: UInt128.self) })
        return String(unsafeUninitializedCapacity: Self.characters) { text in
            // SAFETY: the loop initializes each of the 36 bytes once, in order.
            var shift = 128
            for index in 0..<Self.characters {
                if Self.isHyphen(index) {
                    text.initializeElement(at: index, to: UInt8(ascii: "-"))
                } else {
                    shift -= 4
                    text.initializeElement(at: index, to: Byte.hexDigit(UInt8(truncatingIfNeeded: bits >> UInt128(shift)) & 0xF))
                }
            }
            return Self.characters
        }
    }

    private static let characters = 36

    private static func isHyphen(_ index: Int) -> Bool { index == 8 || index == 13 || index == 18 || index == 23 }

    private static func bits(canonical text: UnsafeRawBufferPointer) -> UInt128? {
        guard text.count == characters else { return nil }
        var bits: UInt128 = 0
        for (index, byte) in text.enumerated() {
            if isHyphen(index) {
                guard byte == UInt8(ascii: "-") else { return nil }
            } else {
                guard let digit = Byte.hexValue(byte) else { return nil }
                bits = bits << 4 | UInt128(digit)
            }
        }
        return bits
    }
}
