import JSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension UUID {
    /// Parses the canonical form of 36 characters (RFC 9562 §4) in either case; nil for any other text.
    init?(wire text: String) {
        guard text.utf8.count == 36 else { return nil }
        self.init(uuidString: text)
    }

    /// The canonical form in lower case.
    var wireText: String {
        withUnsafeBytes(of: uuid) { bytes in
            // SAFETY: 16 bytes make 32 digits, with four hyphens between them: 36.
            String(unsafeUninitializedCapacity: 36) { text in
                var index = 0
                for (position, byte) in bytes.enumerated() {
                    if [4, 6, 8, 10].contains(position) {
                        text[index] = UInt8(ascii: "-")
                        index += 1
                    }
                    text[index] = Self.hexDigit(byte >> 4)
                    text[index + 1] = Self.hexDigit(byte & 0xF)
                    index += 2
                }
                return index
            }
        }
    }

    private static func hexDigit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }
}

extension JSONWriter {
    /// `"name":"0b5f…"` in lower case, or `null`.
    public mutating func member(_ name: StaticString, _ id: UUID?) {
        member(name, id?.wireText)
    }

    /// `"name":"2026-03-01T12:00:00.000Z"`, or `null`.
    public mutating func member(_ name: StaticString, _ time: Timestamp?) {
        member(name, time?.rfc3339)
    }
}
