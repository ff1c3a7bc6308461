import CoachCore
import JSON

extension JSONWriter {
    /// A member. One that is nil is left out, which the functions of the database read as NULL.
    mutating func field(_ name: StaticString, _ value: (some StoredWritable)?) {
        guard let value else { return }
        key(literal: name)
        value.write(to: &self)
    }
}

extension String: StoredWritable, StoredReadable {
    func write(to json: inout JSONWriter) { json.string(self) }
    init(_ stored: StoredValue) throws(StoredMismatch) { self = try stored.map(\.string) }
}

extension Int: StoredWritable, StoredReadable {
    func write(to json: inout JSONWriter) { json.integer(self) }
    init(_ stored: StoredValue) throws(StoredMismatch) { self = try stored.map { $0.integer.flatMap { Int(exactly: $0) } } }
}

extension Int64: StoredWritable, StoredReadable {
    func write(to json: inout JSONWriter) { json.integer(self) }
    init(_ stored: StoredValue) throws(StoredMismatch) { self = try stored.map(\.integer) }
}

extension Double: StoredWritable, StoredReadable {
    func write(to json: inout JSONWriter) { json.number(self) }
    init(_ stored: StoredValue) throws(StoredMismatch) { self = try stored.map(\.number) }
}

extension Bool: StoredWritable, StoredReadable {
    func write(to json: inout JSONWriter) { json.bool(self) }
    init(_ stored: StoredValue) throws(StoredMismatch) { self = try stored.map(\.bool) }
}

extension Identifier: StoredWritable, StoredReadable {
    func write(to json: inout JSONWriter) { json.string(description) }
    init(_ stored: StoredValue) throws(StoredMismatch) { self = try stored.map { $0.string.flatMap { Self(validating: $0) } } }
}

extension Nanodollars: StoredWritable, StoredReadable {
    func write(to json: inout JSONWriter) { json.integer(raw) }
    init(_ stored: StoredValue) throws(StoredMismatch) { self.init(try Int64(stored)) }
}

extension Array: StoredWritable where Element: StoredWritable {
    func write(to json: inout JSONWriter) {
        json.array { json in
            for element in self { element.write(to: &json) }
        }
    }
}

extension Array: StoredReadable where Element: StoredReadable {
    init(_ stored: StoredValue) throws(StoredMismatch) {
        self = []
        for element in try stored.elements() { append(try Element(element)) }
    }
}
