import JSON

/// CSV rows (RFC 4180) that are safe to open in a spreadsheet.
enum CSVWriter {
    /// One row of the JSON object that `write` writes, with these members. Strings are written as they are, numbers and booleans as JSON, `null` as an
    /// empty cell, arrays and objects as JSON text.
    static func row(_ names: [String], of write: (inout JSONWriter) -> Void) -> [UInt8] {
        let json = (try? JSONValue(parsing: JSONWriter.encode(write))) ?? .null
        return row(names.map { cell(json[$0] ?? .null) })
    }

    static func row(_ cells: [String]) -> [UInt8] {
        Array((cells.map(quoted).joined(separator: ",") + "\r\n").utf8)
    }

    private static func cell(_ value: JSONValue) -> String {
        switch value {
        case .null: ""
        case .string(let text): neutralized(text)
        case .integer, .number, .bool, .array, .object: String(decoding: value.bytes, as: UTF8.self)
        }
    }

    /// A leading apostrophe makes spreadsheets read a text as text (OWASP, CSV Injection). Decimal numbers stay as they are.
    private static func neutralized(_ text: String) -> String {
        guard let first = text.unicodeScalars.first, "=+-@\t\r\n".unicodeScalars.contains(first), !isDecimal(text) else { return text }
        return "'" + text
    }

    private static func isDecimal(_ text: String) -> Bool {
        text.wholeMatch(of: /-?[0-9]+(\.[0-9]+)?/) != nil
    }

    /// Works on bytes, because a quote followed by a combining character is one `Character` and would not be found.
    private static func quoted(_ cell: String) -> String {
        let quote = UInt8(ascii: "\"")
        guard cell.utf8.contains(where: { $0 == quote || $0 == UInt8(ascii: ",") || $0 == 0x0D || $0 == 0x0A }) else { return cell }
        let escaped = cell.utf8.flatMap { $0 == quote ? [quote, quote] : [$0] }
        return "\"\(String(decoding: escaped, as: UTF8.self))\""
    }
}
