import JSON

/// Error objects: `{"error": {"message", "type", "param", "code"}}` in the body of a response or in a frame.
///
/// Only code and type are read. The message may quote the prompt or a piece of the key, so it never reaches a log.
enum OpenAIError {
    /// Longer ones are no codes.
    private static let longestCode = 64

    /// Of a whole body; compatible servers also send the error's members at the top level. nil when there is none.
    static func code(inBody body: [UInt8]) -> String? {
        guard let root = (try? JSONDocument(parsing: body))?.value else { return nil }
        let error = root["error"]?.members == nil ? root : root["error"]
        let candidates = [error?["code"], error?["type"]]
        return candidates.lazy.compactMap { $0?.string ?? $0?.integer.map(String.init) }.first(where: isCode)
    }

    /// Of the error that the cursor stands before.
    static func code(_ json: inout JSONCursor) throws(JSONError) -> String? {
        guard try json.peek() == .object else { return nil }
        var code: String?
        var type: String?
        try json.beginObject()
        while let key = try json.nextKey() {
            if key == "code" { code = try word(&json) }
            if key == "type" { type = try word(&json) }
        }
        return code ?? type
    }

    private static func word(_ json: inout JSONCursor) throws(JSONError) -> String? {
        switch try json.peek() {
        case .string:
            let text = try json.readString()
            return isCode(text) ? text : nil
        case .number: return String(decoding: try json.readRaw(), as: UTF8.self)
        default: return nil
        }
    }

    private static func isCode(_ text: String) -> Bool {
        (1...longestCode).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                    UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "."):
                    true
                default: false
                }
            }
    }
}
