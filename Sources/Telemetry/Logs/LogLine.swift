import JSON

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

    /// Appends a quoted string, with an escape for each control character.
    private mutating func string(_ text: String) {
        var text = text
        bytes.append(UInt8(ascii: "\""))
        text.withUTF8 { source in
            let end = Self.end(of: source)
            var written = 0
            for index in 0..<end {
                guard let control = Self.terminalControl(source, at: index) else { continue }
                JSONWriter.appendEscaped(UnsafeBufferPointer(rebasing: source[written..<index]), to: &bytes)
                bytes += "\\u00\(String(control.scalar, radix: 16))".utf8
                written = index + control.length
            }
            JSONWriter.appendEscaped(UnsafeBufferPointer(rebasing: source[written..<end]), to: &bytes)
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

    /// A character that `JSONWriter` does not escape and that terminals obey: U+007F, and U+0080 to U+009F.
    private static func terminalControl(_ source: UnsafeBufferPointer<UInt8>, at index: Int) -> (scalar: UInt8, length: Int)? {
        if source[index] == 0x7F { return (0x7F, 1) }
        // SAFETY: the text is valid UTF-8, so a byte follows 0xC2.
        guard source[index] == 0xC2, source[index + 1] < 0xA0 else { return nil }
        return (source[index + 1], 2)
    }
}
