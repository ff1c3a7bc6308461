import CoachCore
import JSON
import PostgresClient

/// JSON between Swift and the functions of schema `gateway`: two calls a turn.
enum StoredJSON {
    static func encode(_ value: some StoredWritable) -> String {
        String(decoding: bytes(value), as: UTF8.self)
    }

    static func bytes(_ value: some StoredWritable) -> [UInt8] {
        JSONWriter.encode { value.write(to: &$0) }
    }

    /// Throws `StoreFault.unexpected` with the path of the field that does not fit, never with its value.
    static func decode<Value: StoredReadable>(_ type: Value.Type, from text: String) throws -> Value {
        do throws(StoredMismatch) {
            return try decode(type, from: Array(text.utf8))
        } catch {
            throw StoreFault.unexpected("the answer of the database is not a \(type): \(error.path)")
        }
    }

    static func decode<Value: StoredReadable>(_ type: Value.Type, from bytes: [UInt8]) throws(StoredMismatch) -> Value {
        let document: JSONDocument
        do throws(JSONError) {
            document = try JSONDocument(parsing: bytes)
        } catch {
            throw StoredMismatch(path: error.path)
        }
        return try Value(StoredValue(document.value))
    }
}

/// What is written as JSON for the database or the spool. Its shape stands in `write` and nowhere else.
protocol StoredWritable {
    func write(to json: inout JSONWriter)
}

/// What is read from JSON of the database or the spool.
protocol StoredReadable {
    init(_ stored: StoredValue) throws(StoredMismatch)
}

/// A value that is missing, of another type, or unknown to this version. Says where, never what.
struct StoredMismatch: Error, Equatable {
    var path: String
}

/// A value that was read, and where it stands.
struct StoredValue {
    let json: JSONValue
    private let path: String

    init(_ json: JSONValue, path: String = "") {
        self.json = json
        self.path = path
    }

    var mismatch: StoredMismatch { StoredMismatch(path: path) }

    /// What `reading` makes of the value; nil is a mismatch.
    func map<Value>(_ reading: (JSONValue) -> Value?) throws(StoredMismatch) -> Value {
        guard let value = reading(json) else { throw mismatch }
        return value
    }

    /// A member, which must be there.
    func member<Value: StoredReadable>(_ name: String, as type: Value.Type = Value.self) throws(StoredMismatch) -> Value {
        try Value(StoredValue(json[name] ?? .null, path: path(to: name)))
    }

    /// A member, nil when it is absent or `null`.
    func optional<Value: StoredReadable>(_ name: String, as type: Value.Type = Value.self) throws(StoredMismatch) -> Value? {
        guard let member = json[name], member != .null else { return nil }
        return try Value(StoredValue(member, path: path(to: name)))
    }

    /// A member that is one of the values this version knows.
    func choice<Value: RawRepresentable>(_ name: String) throws(StoredMismatch) -> Value where Value.RawValue: StoredReadable {
        guard let value = try optionalChoice(name, as: Value.self) else { throw StoredMismatch(path: path(to: name)) }
        return value
    }

    /// The same, nil when it is absent or `null`.
    func optionalChoice<Value: RawRepresentable>(
        _ name: String, as type: Value.Type = Value.self
    ) throws(StoredMismatch) -> Value? where Value.RawValue: StoredReadable {
        guard let raw = try optional(name, as: Value.RawValue.self) else { return nil }
        guard let value = Value(rawValue: raw) else { throw StoredMismatch(path: path(to: name)) }
        return value
    }

    /// The elements of an array.
    func elements() throws(StoredMismatch) -> [StoredValue] {
        try map(\.elements).enumerated().map { StoredValue($1, path: "\(path)[\($0)]") }
    }

    private func path(to name: String) -> String { path.isEmpty ? name : "\(path).\(name)" }
}
