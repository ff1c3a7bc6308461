/// Puts surrogate pairs together that a provider has split between two strings of its answer, as servers whose strings are UTF-16 may do. A surrogate
/// without its other half becomes U+FFFD.
struct SplitSurrogates {
    /// The first byte of a surrogate in `JSONCursor.StringRule.keepingSurrogates`, and of a few scalars (U+D000–U+D7FF).
    private static let firstByte: UInt8 = 0xED
    private static let replacementCharacter: [UInt8] = [0xEF, 0xBF, 0xBD]

    /// The high surrogate at the end of the text so far, which is not part of it yet.
    private var high: UInt32?

    /// Whether the next text decides about the end of the text so far.
    var isWaiting: Bool { high != nil }

    /// Repairs the text from this index on: whole strings of the answer, as a cursor with `keepingSurrogates` has read them.
    mutating func repair(_ text: inout [UInt8], from start: Int) {
        guard start < text.count, isWaiting || text[start...].contains(Self.firstByte) else { return }
        var repaired: [UInt8] = []
        var index = start
        while index < text.count {
            if text[index] == Self.firstByte, index + 2 < text.count, text[index + 1] >= 0xA0 {
                append(0xD000 | UInt32(text[index + 1] & 0x3F) << 6 | UInt32(text[index + 2] & 0x3F), to: &repaired)
                index += 3
            } else {
                finish(&repaired)
                repaired.append(text[index])
                index += 1
            }
        }
        text.replaceSubrange(start..., with: repaired)
    }

    private mutating func append(_ surrogate: UInt32, to text: inout [UInt8]) {
        let isHigh = surrogate < 0xDC00
        if let high, !isHigh, let scalar = Unicode.Scalar(0x10000 + (high - 0xD800) << 10 + (surrogate - 0xDC00)) {
            self.high = nil
            text.append(contentsOf: UTF8.encode(scalar) ?? .init())
            return
        }
        finish(&text)
        if isHigh { high = surrogate } else { text += Self.replacementCharacter }
    }

    /// No text follows that could hold the other half.
    mutating func finish(_ text: inout [UInt8]) {
        guard isWaiting else { return }
        high = nil
        text += Self.replacementCharacter
    }
}
