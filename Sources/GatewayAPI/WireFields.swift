import JSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Why a client cannot decode a response of the gateway.
public enum WireError: Error, Sendable, Equatable {
    /// Not JSON.
    case malformed(JSONError)
    /// A member is missing or has another type. `field` is its path, empty for the whole value.
    case unexpected(field: String)
}

/// Decodes the members of a JSON object by name and type. Members that are not read are ignored.
struct WireFields {
    private let value: JSONValue
    private let path: String

    init(json: [UInt8]) throws(WireError) {
        do throws(JSONError) {
            self.init(try JSONDocument(parsing: json).value)
        } catch {
            throw .malformed(error)
        }
        if value.members == nil { throw .unexpected(field: "") }
    }

    init(_ value: JSONValue, path: String = "") {
        self.value = value
        self.path = path
    }

    /// A member; nil when it is absent or `null`.
    subscript(name: String) -> JSONValue? {
        guard let member = value[name], member != .null else { return nil }
        return member
    }

    func optionalString(_ name: String) throws(WireError) -> String? { try optional(name) { $0.string } }
    func optionalInteger(_ name: String) throws(WireError) -> Int? { try optional(name) { $0.integer.flatMap { Int(exactly: $0) } } }
    func optionalNumber(_ name: String) throws(WireError) -> Double? { try optional(name) { $0.number } }
    func optionalID(_ name: String) throws(WireError) -> UUID? { try optional(name) { $0.string.flatMap(UUID.init(wire:)) } }
    func optionalTimestamp(_ name: String) throws(WireError) -> Timestamp? {
        try optional(name) { $0.string.flatMap(Timestamp.init(rfc3339:)) }
    }
    func optionalObject(_ name: String) throws(WireError) -> WireFields? {
        try optional(name) { $0.members == nil ? nil : WireFields($0, path: path(to: name)) }
    }

    func string(_ name: String) throws(WireError) -> String { try require(name, try optionalString(name)) }
    func integer(_ name: String) throws(WireError) -> Int { try require(name, try optionalInteger(name)) }
    func optionalBool(_ name: String) throws(WireError) -> Bool? { try optional(name) { $0.bool } }
    func bool(_ name: String) throws(WireError) -> Bool { try require(name, try optional(name) { $0.bool }) }
    func id(_ name: String) throws(WireError) -> UUID { try require(name, try optionalID(name)) }
    func timestamp(_ name: String) throws(WireError) -> Timestamp { try require(name, try optionalTimestamp(name)) }
    func object(_ name: String) throws(WireError) -> WireFields { try require(name, try optionalObject(name)) }

    /// Decodes the elements of an array with `read`. An absent array counts as empty.
    func list<Element>(_ name: String, _ read: (WireFields) throws(WireError) -> Element) throws(WireError) -> [Element] {
        var list: [Element] = []
        for (index, element) in (try optional(name) { $0.elements } ?? []).enumerated() {
            list.append(try read(WireFields(element, path: path(to: name) + "[\(index)]")))
        }
        return list
    }

    /// Decodes an array of strings. An absent array counts as empty.
    func strings(_ name: String) throws(WireError) -> [String] {
        try list(name) { (element) throws(WireError) in try element.string() }
    }

    private func string() throws(WireError) -> String { try require(nil, value.string) }

    private func optional<Member>(_ name: String, _ read: (JSONValue) -> Member?) throws(WireError) -> Member? {
        guard let member = self[name] else { return nil }
        return try require(name, read(member))
    }

    private func require<Member>(_ name: String?, _ member: Member?) throws(WireError) -> Member {
        guard let member else { throw .unexpected(field: name.map(path(to:)) ?? path) }
        return member
    }

    private func path(to name: String) -> String { path.isEmpty ? name : "\(path).\(name)" }
}
