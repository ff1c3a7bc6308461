/// The ASCII bytes that structure JSON.
enum Byte {
    static let lineFeed = UInt8(ascii: "\n")
    static let carriageReturn = UInt8(ascii: "\r")
    static let tab = UInt8(ascii: "\t")
    static let space = UInt8(ascii: " ")
    static let colon = UInt8(ascii: ":")
    static let comma = UInt8(ascii: ",")
    static let quote = UInt8(ascii: "\"")
    static let backslash = UInt8(ascii: "\\")
    static let openBrace = UInt8(ascii: "{")
    static let closeBrace = UInt8(ascii: "}")
    static let openBracket = UInt8(ascii: "[")
    static let closeBracket = UInt8(ascii: "]")
    static let minus = UInt8(ascii: "-")
    static let plus = UInt8(ascii: "+")
    static let dot = UInt8(ascii: ".")
    static let zero = UInt8(ascii: "0")

    static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]
    /// U+FFFD in UTF-8.
    static let replacementCharacter: [UInt8] = [0xEF, 0xBF, 0xBD]

    static func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") <= 9 }

    static func hexValue(_ byte: UInt8) -> UInt32? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(byte &- zero)
        case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt32(byte &- UInt8(ascii: "a")) + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt32(byte &- UInt8(ascii: "A")) + 10
        default: nil
        }
    }

    /// The lower-case digit of a value below 16.
    static func hexDigit(_ value: UInt8) -> UInt8 { value < 10 ? zero &+ value : UInt8(ascii: "a") &+ value &- 10 }
}

extension StaticString {
    /// The literal's bytes, without a copy.
    @inlinable package var utf8: UnsafeBufferPointer<UInt8> {
        // SAFETY: a literal's bytes are valid as long as the program runs.
        UnsafeBufferPointer(start: utf8Start, count: utf8CodeUnitCount)
    }
}
