import JSON

extension JSONValue {
    /// The kind of the value in the words of OpenAI's validation messages.
    var openAIKind: String {
        switch self {
        case .null: "null"
        case .bool: "a boolean"
        case .integer: "an integer"
        case .number: "a decimal"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }

    /// The number.
    static func count(_ value: Int) -> JSONValue { .integer(Int64(value)) }
}
