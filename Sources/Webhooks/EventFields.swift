import CoachCore
import JSON

/// Reads the members of a sender's JSON object by `JSONReader`, whose findings (what is missing or invalid) become an `IgnoredReason`.
struct EventFields {
    private let json: JSONReader

    /// Throws `notUnderstood` unless the body is a JSON object.
    init(body: [UInt8]) throws(IgnoredReason) {
        guard let json = try? JSONReader(parsing: body), json.value.members != nil else { throw .notUnderstood }
        self.json = json
    }

    /// - Parameter path: precedes the paths in reasons.
    init(_ object: JSONValue, path: String = "") { json = JSONReader(object, path: path) }

    private init(_ json: JSONReader) { self.json = json }

    private func name(_ key: String) -> String { json.path.isEmpty ? key : "\(json.path).\(key)" }

    private func read<Value>(_ body: (JSONReader) throws(JSONFinding) -> Value) throws(IgnoredReason) -> Value {
        do throws(JSONFinding) {
            return try body(json)
        } catch {
            throw error.problem == .missing ? .missing(error.path) : .invalid(error.path)
        }
    }

    private func optional<Value: JSONReadable>(_ key: String) throws(IgnoredReason) -> Value? {
        try read { (json) throws(JSONFinding) in try json.optional(key) }
    }

    /// nil when absent or null.
    subscript(key: String) -> JSONValue? {
        guard let value = json.value[key], value != .null else { return nil }
        return value
    }

    func string(_ key: String) throws(IgnoredReason) -> String? { try optional(key) }
    func integer(_ key: String) throws(IgnoredReason) -> Int64? { try optional(key) }
    func bool(_ key: String) throws(IgnoredReason) -> Bool? { try optional(key) }

    /// The reason for an element of another type names the array.
    func strings(_ key: String) throws(IgnoredReason) -> [String]? {
        guard let value = self[key] else { return nil }
        guard let strings = try? [String](JSONReader(value)) else { throw .invalid(name(key)) }
        return strings
    }

    func object(_ key: String) throws(IgnoredReason) -> EventFields? {
        guard self[key] != nil else { return nil }
        return EventFields(try read { (json) throws(JSONFinding) in try json.object(key) })
    }

    /// The elements of an array of objects; throws when one is none.
    func objects(_ key: String) throws(IgnoredReason) -> [EventFields]? {
        guard self[key] != nil else { return nil }
        let elements = try read { (json) throws(JSONFinding) in try json.elements(key, 0...Int.max) }
        guard elements.allSatisfy({ $0.value.members != nil }) else { throw .invalid(name(key)) }
        return elements.map { EventFields($0) }
    }

    /// The members of an object whose values are objects, by name; other members are left out. Empty when absent.
    func dictionary(_ key: String) throws(IgnoredReason) -> [(name: String, fields: EventFields)] {
        guard let object = try object(key) else { return [] }
        return (object.json.value.members ?? []).filter { $0.value.members != nil }
            .map { ($0.key, EventFields($0.value, path: "\(object.json.path).\($0.key)")) }
    }

    /// The arrays among the members of an object, by name. Elements that are no objects are left out, and so are other members. Empty when absent.
    func lists(_ key: String) throws(IgnoredReason) -> [(name: String, elements: [EventFields])] {
        guard let object = try object(key) else { return [] }
        return (object.json.value.members ?? []).compactMap { member in
            member.value.elements.map { elements in (member.key, elements.filter { $0.members != nil }.map { EventFields($0) }) }
        }
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

    /// An amount of US dollars, rounded to nanodollars; nil when it is absent, no number, or of more than a million dollars. It is for
    /// operators' figures alone: a price that makes no sense does not keep an event from its effect.
    func dollars(_ key: String) -> Nanodollars? {
        guard let number = self[key]?.number, abs(number) <= 1_000_000 else { return nil }
        return Nanodollars(Int64((number * 1_000_000_000).rounded()))
    }

    /// An amount in a currency's units of 10⁻`decimals`, in nanodollars; nil unless the currency is the US dollar, and above 10⁹ units.
    func dollars(_ key: String, decimals: Int, currency: String) -> Nanodollars? {
        guard self[currency]?.string?.lowercased() == "usd", let amount = self[key]?.integer, amount.magnitude <= 1_000_000_000
        else { return nil }
        return Nanodollars((decimals..<9).reduce(amount) { amount, _ in amount * 10 })
    }

    /// Milliseconds since 1970, a number or digits.
    func instant(_ key: String) throws(IgnoredReason) -> BillingInstant? { try instant(key, milliseconds: 1) }

    /// Seconds since 1970.
    func instant(seconds key: String) throws(IgnoredReason) -> BillingInstant? { try instant(key, milliseconds: 1000) }

    /// An RFC 3339 time.
    func instant(rfc3339 key: String) throws(IgnoredReason) -> BillingInstant? {
        guard let text = try string(key) else { return nil }
        guard let time = Timestamp(rfc3339: text), let instant = BillingInstant(milliseconds: time.millisecondsSince1970) else {
            throw .invalid(name(key))
        }
        return instant
    }

    private func instant(_ key: String, milliseconds: Int64) throws(IgnoredReason) -> BillingInstant? {
        guard let value = self[key] else { return nil }
        guard let number = value.integer ?? value.string.flatMap({ Int64($0) }) else { throw .invalid(name(key)) }
        let (product, overflow) = number.multipliedReportingOverflow(by: milliseconds)
        guard !overflow, let instant = BillingInstant(milliseconds: product) else { throw .invalid(name(key)) }
        return instant
    }
}
