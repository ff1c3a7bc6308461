/// Builds one log line, a JSON object, field by field. No value can end the line early: control characters are escaped, and U+0085, U+2028
/// and U+2029, at which some readers split lines.
struct LogLine {
    /// The longest string value in bytes; a longer one is truncated and ends with an ellipsis, so that one call cannot flood the log.
    static let longestValue = 4096

    private(set) var bytes: [UInt8]

    init() {
        bytes = []
        bytes.reserveCapacity(512)  // most lines
        bytes.append(UInt8(ascii: "{"))
    }

    mutating func field(_ key: String, _ value: String) {
        open(key)
        string(value)
    }

    /// Adds a value that is JSON text: a number or a boolean.
    mutating func field(_ key: String, literal: String) {
        open(key)
        bytes += literal.utf8
    }

    mutating func field(_ key: String, list: [String]) {
        open(key)
        bytes.append(UInt8(ascii: "["))
        for (index, item) in list.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            string(item)
        }
        bytes.append(UInt8(ascii: "]"))
    }

    mutating func end() { bytes += "}\n".utf8 }

    private mutating func open(_ key: String) {
        if bytes.count > 1 { bytes.append(UInt8(ascii: ",")) }
        string(key)
        bytes.append(UInt8(ascii: ":"))
    }

    /// Appends a quoted string. Runs of bytes without an escape are copied at once.
    private mutating func string(_ text: String) {
        var text = text
        bytes.append(UInt8(ascii: "\""))
        text.withUTF8 { source in
            let end = Self.end(of: source)
            var (copied, index) = (0, 0)
            while index < end {
                // Nearly all bytes are plain: skips the slower check.
                if Self.isPlain(source[index]) {
                    index += 1
                    continue
                }
                guard let (length, escape) = Self.escape(source[index...]) else {
                    index += 1
                    continue
                }
                bytes.append(contentsOf: UnsafeBufferPointer(rebasing: source[copied..<index]))
                bytes += escape.utf8
                index += length
                copied = index
            }
            if copied < end { bytes.append(contentsOf: UnsafeBufferPointer(rebasing: source[copied..<end])) }
            if end < source.count { bytes += "…".utf8 }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    /// The length at which a text is truncated: not inside a UTF-8 sequence.
    private static func end(of source: UnsafeBufferPointer<UInt8>) -> Int {
        guard source.count > longestValue else { return source.count }
        var end = longestValue
        while end > 0, source[end] & 0xC0 == 0x80 { end -= 1 }
        return end
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        byte >= 0x20 && byte < 0x7F && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
    }

    /// The escape for the beginning of `rest`, and how many bytes it replaces; nil when no escape is needed.
    private static func escape(_ rest: Slice<UnsafeBufferPointer<UInt8>>) -> (length: Int, escape: String)? {
        let first = rest[rest.startIndex]
        switch first {
        case UInt8(ascii: "\""): return (1, "\\\"")
        case UInt8(ascii: "\\"): return (1, "\\\\")
        case UInt8(ascii: "\n"): return (1, "\\n")
        case UInt8(ascii: "\r"): return (1, "\\r")
        case UInt8(ascii: "\t"): return (1, "\\t")
        case 0..<0x20, 0x7F: return (1, unicode(UInt32(first)))
        case 0xC2:  // U+0080 to U+009F, of which U+0085 ends a line
            guard let second = rest.dropFirst().first, second < 0xA0 else { return nil }
            return (2, unicode(UInt32(second)))
        case 0xE2:  // U+2028 and U+2029
            let next = rest.dropFirst().prefix(2)
            guard next.count == 2, next.first == 0x80, let third = next.last, third == 0xA8 || third == 0xA9 else { return nil }
            return (3, unicode(0x2000 + UInt32(third) - 0x80))
        default: return nil
        }
    }

    private static func unicode(_ value: UInt32) -> String {
        let digits = String(value, radix: 16)
        return "\\u" + String(repeating: "0", count: 4 - digits.utf8.count) + digits
    }
}
