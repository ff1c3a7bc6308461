/// A JSON value as a tree, for code that is not on the hot path. The hot path uses `JSONCursor` and `JSONWriter`.
public enum JSONValue: Sendable, Equatable {
    /// Members in the order of the text. A name can occur more than once.
    case object([JSONMember])
    /// Elements in the order of the text.
    case array([JSONValue])
    /// Text.
    case string(String)
    /// A number without fraction and exponent that fits into `Int64`.
    case integer(Int64)
    /// Any other number.
    case number(Double)
    /// `true` or `false`.
    case bool(Bool)
    /// `null`.
    case null
}

/// One member of an object.
public struct JSONMember: Sendable, Equatable {
    /// The name.
    public var key: String
    /// The value.
    public var value: JSONValue

    public init(_ key: String, _ value: JSONValue) {
        self.key = key
        self.value = value
    }
}

// MARK: - Access

extension JSONValue {
    /// The value of the last member with this name; nil when there is none or this is not an object.
    public subscript(key: String) -> JSONValue? {
        members?.last { $0.key.utf8.count == key.utf8.count && $0.key.utf8.elementsEqual(key.utf8) }?.value
    }

    /// The members, if this is an object.
    public var members: [JSONMember]? {
        if case .object(let members) = self { members } else { nil }
    }

    /// The elements, if this is an array.
    public var elements: [JSONValue]? {
        if case .array(let elements) = self { elements } else { nil }
    }

    /// The text, if this is a string.
    public var string: String? {
        if case .string(let text) = self { text } else { nil }
    }

    /// The number, if this is a whole number that fits into `Int64`.
    public var integer: Int64? {
        switch self {
        case .integer(let value): value
        case .number(let value): Int64(exactly: value)
        default: nil
        }
    }

    /// The number, if this is a number.
    public var number: Double? {
        switch self {
        case .integer(let value): Double(value)
        case .number(let value): value
        default: nil
        }
    }

    /// The value, if this is `true` or `false`.
    public var bool: Bool? {
        if case .bool(let value) = self { value } else { nil }
    }
}

// MARK: - Writing

extension JSONValue {
    /// Writes this value as the writer's next value.
    public func write(to writer: inout JSONWriter) {
        switch self {
        case .object(let members):
            writer.object { writer in
                for member in members {
                    writer.key(member.key)
                    member.value.write(to: &writer)
                }
            }
        case .array(let elements):
            writer.array { writer in
                for element in elements { element.write(to: &writer) }
            }
        case .string(let text): writer.string(text)
        case .integer(let value): writer.integer(value)
        case .number(let value): writer.number(value)
        case .bool(let value): writer.bool(value)
        case .null: writer.null()
        }
    }

    /// This value as JSON text on one line.
    public var bytes: [UInt8] { JSONWriter.encode { write(to: &$0) } }
}

// MARK: - Literals

extension JSONValue: ExpressibleByDictionaryLiteral, ExpressibleByArrayLiteral, ExpressibleByStringLiteral,
    ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral, ExpressibleByBooleanLiteral
{
    /// `["limit": 20]`
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self = .object(elements.map { JSONMember($0.0, $0.1) })
    }

    /// `[1, 2]`
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }

    /// `"text"`
    public init(stringLiteral value: String) { self = .string(value) }

    /// `1`
    public init(integerLiteral value: Int64) { self = .integer(value) }

    /// `0.5`
    public init(floatLiteral value: Double) { self = .number(value) }

    /// `true`
    public init(booleanLiteral value: Bool) { self = .bool(value) }
}
