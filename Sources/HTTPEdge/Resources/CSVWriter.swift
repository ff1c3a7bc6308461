import JSON

/// CSV rows (RFC 4180) that are safe to open in a spreadsheet.
enum CSVWriter {
    /// One row of the JSON object that `write` writes, with these members. Strings are written as they are, numbers and booleans as JSON, `null` as an
    /// empty cell, arrays and objects as JSON text.
    static func row(_ names: [String], of write: (inout JSONWriter) -> Void) -> [UInt8] {
        // What this process wrote can be read.
        row((try? cells(names, of: JSONWriter.encode(write))) ?? names.map { _ in "" })
    }

    static func row(_ cells: [String]) -> [UInt8] {
        var bytes: [UInt8] = []
        for (index, cell) in cells.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            append(cell, to: &bytes)
        }
        return bytes + [0x0D, 0x0A]
    }

    private static func cells(_ names: [String], of object: [UInt8]) throws -> [String] {
        var (json, cells, next) = (JSONCursor(object), names.map { _ in "" }, 0)
        try json.beginObject()
        while let key = try json.nextKey() {
            // Members are mostly in the order of the names.
            func isKey(_ index: Int) -> Bool { key.utf8.elementsEqual(names[index].utf8) }
            guard let place = next < names.count && isKey(next) ? next : names.indices.first(where: isKey) else {
                try json.skipValue()
                continue
            }
            next = place + 1
            switch try json.peek() {
            case .null:
                _ = try json.skipNull()
                cells[place] = ""
            case .string: cells[place] = neutralized(try json.readString())
            default: cells[place] = String(decoding: try json.readRaw(), as: UTF8.self)
            }
        }
        return cells
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
    private static func append(_ cell: String, to bytes: inout [UInt8]) {
        let quote = UInt8(ascii: "\"")
        guard cell.utf8.contains(where: { $0 == quote || $0 == UInt8(ascii: ",") || $0 == 0x0D || $0 == 0x0A }) else {
            return bytes.append(contentsOf: cell.utf8)
        }
        bytes.append(quote)
        for byte in cell.utf8 {
            if byte == quote { bytes.append(quote) }
            bytes.append(byte)
        }
        bytes.append(quote)
    }
}
