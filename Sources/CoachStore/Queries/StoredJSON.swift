import CoachCore
import JSON
import PostgresClient

/// Encodes arguments and decodes results of the functions of schema `gateway`, which exchange JSON.
enum StoredJSON {
    static func encode(_ value: some StoredWritable) -> String {
        String(decoding: bytes(value), as: UTF8.self)
    }

    static func bytes(_ value: some StoredWritable) -> [UInt8] {
        JSONWriter.encode { value.write(to: &$0) }
    }

    /// Throws `StoreFault.unexpected` with the path of the invalid member, never with its value.
    static func decode<Value: JSONReadable>(_ type: Value.Type, from text: String) throws -> Value {
        do throws(JSONFinding) {
            return try decode(type, from: Array(text.utf8))
        } catch {
            throw StoreFault.unexpected("the answer of the database is not a \(type): \(error.path)")
        }
    }

    static func decode<Value: JSONReadable>(_ type: Value.Type, from bytes: [UInt8]) throws(JSONFinding) -> Value {
        try Value(JSONReader(parsing: bytes))
    }
}

/// A value that is written as JSON for the database or the spool.
protocol StoredWritable {
    func write(to json: inout JSONWriter)
}

extension JSONValue {
    /// Parses the text of a `jsonb` column. A number beyond a double, which users can write behind PostgREST, becomes the largest one.
    static func stored(_ text: String) throws -> JSONValue {
        do {
            return try JSONDocument(parsing: Array(text.utf8)).value
        } catch {
            throw StoreFault.unexpected("the database holds unreadable JSON")
        }
    }
}
