import JSON

/// Decodes the members of a token's header or payload by name and type. Of two members with one name the last applies, as in PostgreSQL
/// (RFC 7519 §4).
struct TokenFields {
    private let object: JSONValue

    /// Throws `malformed` unless the bytes are a JSON object.
    init(json: [UInt8]) throws(TokenRejection) {
        guard let document = try? JSONDocument(parsing: json), document.value.members != nil else { throw .malformed }
        object = document.value
    }

    /// Whether the member exists, including with the value `null`.
    func has(_ name: String) -> Bool { object[name] != nil }

    /// A member of any type; nil when it is absent or `null`.
    subscript(name: String) -> JSONValue? {
        guard let member = object[name], member != .null else { return nil }
        return member
    }

    /// A string; nil when absent or `null`. Throws `malformed` for another type.
    func string(_ name: String) throws(TokenRejection) -> String? { try optional(name, \.string) }

    /// A number; nil when absent or `null`. Throws `malformed` for another type.
    func number(_ name: String) throws(TokenRejection) -> Double? { try optional(name, \.number) }

    private func optional<Value>(_ name: String, _ read: (JSONValue) -> Value?) throws(TokenRejection) -> Value? {
        guard let member = self[name] else { return nil }
        guard let value = read(member) else { throw .malformed }
        return value
    }
}

extension JSONValue {
    /// The strings, if this is an array of only strings.
    var strings: [String]? {
        guard let elements else { return nil }
        let strings = elements.compactMap(\.string)
        return strings.count == elements.count ? strings : nil
    }
}
