import CoachCore
import JSON

/// Reads the members of a sender's object by name and type. A value of another type is an `IgnoredReason`, never a crash.
struct EventFields {
    private let object: JSONValue
    /// The path of the object, for reasons.
    private let path: String

    /// Throws `notUnderstood` unless the body is a JSON object.
    init(body: [UInt8]) throws(IgnoredReason) {
        guard let document = try? JSONDocument(parsing: body), document.value.members != nil else { throw .notUnderstood }
        self.init(document.value)
    }

    init(_ object: JSONValue, path: String = "") {
        self.object = object
        self.path = path
    }

    private func name(_ key: String) -> String { path.isEmpty ? key : "\(path).\(key)" }

    /// nil when absent or null.
    subscript(key: String) -> JSONValue? {
        guard let value = object[key], value != .null else { return nil }
        return value
    }

    func string(_ key: String) throws(IgnoredReason) -> String? { try optional(key, \.string) }
    func integer(_ key: String) throws(IgnoredReason) -> Int64? { try optional(key, \.integer) }
    func bool(_ key: String) throws(IgnoredReason) -> Bool? { try optional(key, \.bool) }
    func elements(_ key: String) throws(IgnoredReason) -> [JSONValue]? { try optional(key, \.elements) }

    func object(_ key: String) throws(IgnoredReason) -> EventFields? {
        guard let value = self[key] else { return nil }
        guard value.members != nil else { throw .invalid(name(key)) }
        return EventFields(value, path: name(key))
    }

    /// Members that are objects; throws when one is not.
    func objects(_ key: String) throws(IgnoredReason) -> [EventFields]? {
        guard let elements = try elements(key) else { return nil }
        guard elements.allSatisfy({ $0.members != nil }) else { throw .invalid(name(key)) }
        return elements.enumerated().map { EventFields($0.element, path: "\(name(key))[\($0.offset)]") }
    }

    func strings(_ key: String) throws(IgnoredReason) -> [String]? {
        guard let elements = try elements(key) else { return nil }
        let strings = elements.compactMap(\.string)
        guard strings.count == elements.count else { throw .invalid(name(key)) }
        return strings
    }

    func required<Value>(_ key: String, _ value: Value?) throws(IgnoredReason) -> Value {
        guard let value else { throw .missing(name(key)) }
        return value
    }

    /// An id that can be a key in the database: 1 to 255 printable ASCII characters.
    func eventID(_ key: String) throws(IgnoredReason) -> String {
        let id = try required(key, string(key))
        guard (1...255).contains(id.utf8.count), id.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else { throw .invalid(name(key)) }
        return id
    }

    /// A text that can be stored: at most 255 bytes, without U+0000.
    func text(_ key: String) throws(IgnoredReason) -> String? {
        guard let text = try string(key), !text.isEmpty else { return nil }
        guard text.utf8.count <= 255, !text.utf8.contains(0) else { throw .invalid(name(key)) }
        return text
    }

    /// Milliseconds since 1970, a number or digits.
    func instant(_ key: String) throws(IgnoredReason) -> BillingInstant? { try instant(key, milliseconds: 1) }

    /// Seconds since 1970.
    func instant(seconds key: String) throws(IgnoredReason) -> BillingInstant? { try instant(key, milliseconds: 1000) }

    private func instant(_ key: String, milliseconds: Int64) throws(IgnoredReason) -> BillingInstant? {
        guard let value = self[key] else { return nil }
        guard let number = value.integer ?? value.string.flatMap({ Int64($0) }) else { throw .invalid(name(key)) }
        let (product, overflow) = number.multipliedReportingOverflow(by: milliseconds)
        guard !overflow, let instant = BillingInstant(milliseconds: product) else { throw .invalid(name(key)) }
        return instant
    }

    private func optional<Value>(_ key: String, _ read: (JSONValue) -> Value?) throws(IgnoredReason) -> Value? {
        guard let member = self[key] else { return nil }
        guard let value = read(member) else { throw .invalid(name(key)) }
        return value
    }
}
