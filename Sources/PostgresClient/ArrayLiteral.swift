import JSON

/// Encodes and decodes PostgreSQL's text form of a one-dimensional array, `{a,"b c",NULL}` (PostgreSQL manual, 8.15.2 and 8.15.6).
enum ArrayLiteral {
    static func encode(_ elements: [QueryParameter]) -> String {
        var text: [UInt8] = [UInt8(ascii: "{")]
        for (index, element) in elements.enumerated() {
            if index > 0 { text.append(UInt8(ascii: ",")) }
            switch element {
            case .null: text += "NULL".utf8
            case .text(let value): appendQuoted(value, to: &text)
            case .binary(let bytes, _): appendQuoted(HexLiteral.encode(bytes), to: &text)
            }
        }
        text.append(UInt8(ascii: "}"))
        return String(decoding: text, as: UTF8.self)
    }

    /// Works on bytes, not characters, for speed.
    private static func appendQuoted(_ value: String, to text: inout [UInt8]) {
        text.append(UInt8(ascii: "\""))
        var rest = value.utf8[...]
        while let special = rest.firstIndex(where: { $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\") }) {
            text += rest[..<special]
            text.append(UInt8(ascii: "\\"))
            text.append(rest[special])
            rest = rest[rest.index(after: special)...]
        }
        text += rest
        text.append(UInt8(ascii: "\""))
    }

    /// The elements, nil for NULL; nil when the text is not a one-dimensional array.
    static func decode(_ text: String) -> [String?]? {
        var input = text.utf8[...]
        guard input.popFirst() == UInt8(ascii: "{") else { return nil }
        var elements: [String?] = []
        if input.first == UInt8(ascii: "}") { return input.count == 1 ? [] : nil }
        while true {
            guard let element = decodeElement(&input) else { return nil }
            elements.append(element)
            switch input.popFirst() {
            case UInt8(ascii: ","): continue
            case UInt8(ascii: "}"): return input.isEmpty ? elements : nil
            default: return nil
            }
        }
    }

    private static func decodeElement(_ input: inout Substring.UTF8View) -> String?? {
        var bytes: [UInt8] = []
        guard input.first == UInt8(ascii: "\"") else {
            while let byte = input.first, byte != UInt8(ascii: ","), byte != UInt8(ascii: "}") {
                guard byte != UInt8(ascii: "{") else { return nil }
                bytes.append(byte)
                input.removeFirst()
            }
            let element = String(decoding: bytes, as: UTF8.self)
            return .some(element == "NULL" ? nil : element)
        }
        input.removeFirst()
        while let byte = input.popFirst() {
            switch byte {
            case UInt8(ascii: "\""):
                return .some(String(decoding: bytes, as: UTF8.self))
            case UInt8(ascii: "\\"):
                guard let escaped = input.popFirst() else { return nil }
                bytes.append(escaped)
            default:
                bytes.append(byte)
            }
        }
        return nil
    }
}

/// Encodes and decodes PostgreSQL's text form of `bytea`, `\x00ff` (PostgreSQL manual, 8.4.1).
enum HexLiteral {
    static func encode(_ bytes: [UInt8]) -> String { "\\x" + Hexadecimal.encode(bytes) }

    /// Nil when the text is not in this form.
    static func decode(_ text: UnsafeRawBufferPointer) -> [UInt8]? {
        guard text.starts(with: "\\x".utf8) else { return nil }
        return Hexadecimal.decode(UnsafeRawBufferPointer(rebasing: text[2...]))
    }
}
