/// Validates UTF-8, one sequence at a time (Unicode 15, table 3-7).
enum UTF8Scan {
    /// The sequence at an index.
    enum Step: Equatable {
        /// A scalar of `length` bytes (1–4).
        case scalar(length: Int)
        /// `length` bytes (1–3) that one U+FFFD replaces: the maximal subpart (Unicode 15 §3.9), as in `String(decoding:as:)`.
        case malformed(length: Int)
    }

    /// - Precondition: `index < bytes.count`.
    static func step(_ bytes: UnsafeBufferPointer<UInt8>, at index: Int) -> Step {
        let lead = bytes[index]
        let length: Int
        var second: ClosedRange<UInt8> = 0x80...0xBF
        switch lead {
        case 0x00...0x7F: return .scalar(length: 1)
        case 0xC2...0xDF: length = 2
        case 0xE0: (length, second) = (3, 0xA0...0xBF)
        case 0xED: (length, second) = (3, 0x80...0x9F)
        case 0xE1...0xEF: length = 3
        case 0xF0: (length, second) = (4, 0x90...0xBF)
        case 0xF4: (length, second) = (4, 0x80...0x8F)
        case 0xF1...0xF3: length = 4
        default: return .malformed(length: 1)
        }
        var offset = 1
        while offset < length {
            guard index + offset < bytes.count else { return .malformed(length: offset) }
            let byte = bytes[index + offset]
            guard offset == 1 ? second.contains(byte) : byte & 0xC0 == 0x80 else { return .malformed(length: offset) }
            offset += 1
        }
        return .scalar(length: length)
    }
}
