import CoachCore
import JSON

extension JSONWriter {
    /// Writes a member. Nil is omitted, which the database's functions read as NULL.
    mutating func field(_ name: StaticString, _ value: (some StoredWritable)?) {
        guard let value else { return }
        key(literal: name)
        value.write(to: &self)
    }
}

extension String: StoredWritable {
    func write(to json: inout JSONWriter) { json.string(self) }
}

extension Int: StoredWritable {
    func write(to json: inout JSONWriter) { json.integer(self) }
}

extension Int64: StoredWritable {
    func write(to json: inout JSONWriter) { json.integer(self) }
}

extension Double: StoredWritable {
    func write(to json: inout JSONWriter) { json.number(self) }
}

extension Bool: StoredWritable {
    func write(to json: inout JSONWriter) { json.bool(self) }
}

extension Identifier: StoredWritable {
    func write(to json: inout JSONWriter) { json.string(description) }
}

extension Nanodollars: StoredWritable, JSONReadable {
    func write(to json: inout JSONWriter) { json.integer(raw) }
    public init(_ json: JSONReader) throws(JSONFinding) { self.init(try Int64(json)) }
}

extension Array: StoredWritable where Element: StoredWritable {
    func write(to json: inout JSONWriter) {
        json.array { json in
            for element in self { element.write(to: &json) }
        }
    }
}
