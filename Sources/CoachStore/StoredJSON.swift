import CoachCore
import Foundation

/// JSON between Swift and the functions of schema `gateway`: two calls a turn.
enum StoredJSON {
    static func encode(_ value: some Encodable) throws -> String {
        String(decoding: try JSONEncoder().encode(value), as: UTF8.self)
    }

    /// Throws `StoreFault.unexpected` with the path of the field that does not fit, never with its value.
    static func decode<Value: Decodable>(_ type: Value.Type, from text: String) throws -> Value {
        do {
            return try JSONDecoder().decode(type, from: Data(text.utf8))
        } catch let error as DecodingError {
            throw StoreFault.unexpected("the answer of the database is not a \(type): \(error.place)")
        }
    }
}

extension DecodingError {
    /// The path of the field that does not fit, never its value.
    var place: String {
        let context: Context? =
            switch self {
            case .typeMismatch(_, let context), .valueNotFound(_, let context), .keyNotFound(_, let context), .dataCorrupted(let context):
                context
            @unknown default: nil
            }
        return (context?.codingPath ?? []).map(\.stringValue).joined(separator: ".")
    }
}

extension Identifier: Codable {
    public init(from decoder: any Decoder) throws {
        self.init(try decoder.singleValueContainer().decode(UUID.self))
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}
