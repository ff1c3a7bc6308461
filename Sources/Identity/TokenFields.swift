import EventStream

/// The members of a token's header or payload, asked for by name and type. Of two members of one name the last counts, for the
/// database too (RFC 7519 §4).
struct TokenFields {
    private let object: JSONValue

    /// Throws `malformed` for what is not JSON, or no object.
    init(json: [UInt8]) throws(TokenRejection) {
        guard let document = try? JSONDocument(parsing: json), document.value.members != nil else { throw .malformed }
        object = document.value
    }

    /// Whether there is such a member, `null` or not.
    func has(_ name: String) -> Bool { object[name] != nil }

    /// A member as it stands; nil when it is absent or `null`.
    subscript(name: String) -> JSONValue? {
        guard let member = object[name], member != .null else { return nil }
        return member
    }

    /// Throws `malformed` for a member that is no string.
    func string(_ name: String) throws(TokenRejection) -> String? { try optional(name, \.string) }

    /// Throws `malformed` for a member that is no number.
    func number(_ name: String) throws(TokenRejection) -> Double? { try optional(name, \.number) }

    private func optional<Value>(_ name: String, _ read: (JSONValue) -> Value?) throws(TokenRejection) -> Value? {
        guard let member = self[name] else { return nil }
        guard let value = read(member) else { throw .malformed }
        return value
    }
}

extension JSONValue {
    /// The texts of an array of nothing else.
    var strings: [String]? {
        guard let elements else { return nil }
        let strings = elements.compactMap(\.string)
        return strings.count == elements.count ? strings : nil
    }
}
