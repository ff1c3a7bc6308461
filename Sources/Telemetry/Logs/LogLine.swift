/// The bytes of one log line: a JSON object, built field by field. Nothing in it can end the line early: control characters and the line
/// separators U+0085, U+2028 and U+2029, which some readers split at, are escaped.
struct LogLine {
    /// Longest string value, in bytes; a longer one is cut and ends with an ellipsis. Keeps one bad call from flooding the log.
    static let longestValue = 4096

    private(set) var bytes: [UInt8] = Array("{".utf8)

    mutating func field(_ key: String, _ value: String) {
        open(key)
        string(value)
    }

    /// A value that is JSON already: a number or a boolean.
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

    private mutating func string(_ text: String) {
        bytes.append(UInt8(ascii: "\""))
        var length = 0
        for scalar in text.unicodeScalars {
            length += UTF8.width(scalar)
            guard length <= Self.longestValue else {
                bytes += "…".utf8
                break
            }
            switch scalar {
            case "\"": bytes += "\\\"".utf8
            case "\\": bytes += "\\\\".utf8
            case "\n": bytes += "\\n".utf8
            case "\r": bytes += "\\r".utf8
            case "\t": bytes += "\\t".utf8
            case "\u{0}"..."\u{1F}", "\u{7F}"..."\u{9F}", "\u{2028}", "\u{2029}": escape(scalar)
            default: bytes.append(contentsOf: scalar.utf8)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    private mutating func escape(_ scalar: Unicode.Scalar) {
        let digits = String(scalar.value, radix: 16)
        bytes += "\\u".utf8
        bytes += String(repeating: "0", count: 4 - digits.utf8.count).utf8
        bytes += digits.utf8
    }
}
