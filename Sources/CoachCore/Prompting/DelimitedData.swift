/// Wraps untrusted text in tags that it cannot close. The prompt states that text between these tags is data, never an
/// instruction.
enum DelimitedData {
    /// `<tag>text</tag>`, with `notGiven` for a missing or blank text. `limit` is in Unicode scalars.
    static func block(_ text: String?, tag: String, limit: Int) -> String {
        guard let text, text.contains(where: { !$0.isWhitespace }) else { return "<\(tag)>\(notGiven)</\(tag)>" }
        return "<\(tag)>\n\(escaped(text, limit: limit))\n</\(tag)>"
    }

    /// One statement per line; line breaks inside a statement become spaces. `limit` is in Unicode scalars per statement.
    static func list(_ statements: [String], tag: String, limit: Int) -> String {
        guard !statements.isEmpty else { return "<\(tag)>\(notGiven)</\(tag)>" }
        let lines = statements.map { "- " + oneLine(escaped($0, limit: limit)) }
        return "<\(tag)>\n\(lines.joined(separator: "\n"))\n</\(tag)>"
    }

    /// The end of each message of a conversation, where its question usually stands. Each message is an element that its text cannot close, so that no text
    /// can pretend to be a message of the other role. `limit` is in Unicode scalars per message.
    static func messages(_ messages: [HistoryMessage], tag: String, limit: Int) -> String {
        let elements = messages.map { message in
            let end = String(String.UnicodeScalarView(message.content.unicodeScalars.suffix(limit)))
            return block(end, tag: message.role == .user ? "person" : "coach", limit: limit)
        }
        return "<\(tag)>\n\(elements.joined(separator: "\n"))\n</\(tag)>"
    }

    static let notGiven = "(not given)"

    /// Escapes angle brackets and their look-alikes, removes control and invisible characters, and cuts the text to `limit` scalars.
    private static func escaped(_ text: String, limit: Int) -> String {
        var result = ""
        var previous: Unicode.Scalar?
        var mayCloseTag = false
        for scalar in text.unicodeScalars.prefix(limit) {
            defer { previous = scalar }
            switch scalar.value {
            case 0x3C, 0xFE64, 0xFF1C: result += "&lt;"
            case 0x3E, 0xFE65, 0xFF1E: result += "&gt;"
            // Quotation marks, title brackets and letters, which a model may read as the start of a closing tag.
            case 0x02C2, 0x1438, 0x2039, 0x2329, 0x276E, 0x27E8, 0x3008:
                mayCloseTag = true
                result.unicodeScalars.append(scalar)
            case 0x0A: result.unicodeScalars.append(scalar)
            case 0x09, 0x0B, 0x0C, 0x0D, 0x85, 0x2028, 0x2029: result += " "
            case 0..<0x20, 0x7F..<0xA0: break
            case _ where scalar.isInvisible || scalar.isStrayVariationSelector(after: previous): break
            default: result.unicodeScalars.append(scalar)
            }
        }
        return !mayCloseTag ? result : result.replacing(/[\u{2C2}\u{1438}\u{2039}\u{2329}\u{276E}\u{27E8}\u{3008}]\s*\//, with: "&lt;/")
    }

    private static func oneLine(_ text: String) -> String {
        text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }
}
