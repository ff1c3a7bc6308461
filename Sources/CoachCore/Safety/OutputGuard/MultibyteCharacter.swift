/// A character of more than one byte in UTF-8, read byte by byte.
struct MultibyteCharacter: Sendable {
    /// The bytes so far, big-endian.
    private(set) var bytes: UInt32 = 0
    /// Offset of the first byte.
    private(set) var start = 0
    private var missingBytes = 0

    var isIncomplete: Bool { missingBytes > 0 }

    /// Takes the next byte. True when it completes the character.
    mutating func take(_ byte: UInt8, at offset: Int) -> Bool {
        if byte >= 0xC0 {
            bytes = UInt32(byte)
            missingBytes = byte >= 0xF0 ? 3 : byte >= 0xE0 ? 2 : 1
            start = offset
        } else {
            bytes = bytes << 8 | UInt32(byte)
            missingBytes -= 1
        }
        return missingBytes == 0
    }

    /// Makes its last byte unread.
    mutating func giveBack() {
        bytes >>= 8
        missingBytes += 1
    }

    /// Whether it is a small letter of U+00DF to U+00FF, which has all small letters of the guarded languages outside ASCII but "œ".
    var isLowercase: Bool { (0xC39F...0xC3BF).contains(bytes) || bytes == 0xC593 }

    /// Whether it is a dash of its own, not a hyphen: ‒–—―
    var isDash: Bool { (0xE28092...0xE28095).contains(bytes) }

    /// Number of its bytes.
    var width: Int { bytes > 0xFF_FFFF ? 4 : bytes > 0xFFFF ? 3 : 2 }

    /// The ASCII form of digits, hyphens and spaces of other widths and scripts, which a number may have, and of the apostrophe. 0 for other
    /// characters.
    var ascii: UInt8 {
        switch bytes {
        case 0xE28090...0xE28095, 0xEFBC8D: UInt8(ascii: "-")
        case 0xE28099: UInt8(ascii: "'")
        case 0xC2A0, 0xE28080...0xE2808A, 0xE280AF, 0xE2819F, 0xE38080: UInt8(ascii: " ")
        default: WordTable.digit(WordTable.scalar(of: bytes)).map { UInt8(ascii: "0") + $0 } ?? 0
        }
    }
}
