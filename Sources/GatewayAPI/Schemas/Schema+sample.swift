import JSON

extension Schema {
    /// A value for examples that fits the schema: `example`, or a value made from the form. nil for bytes.
    public var sample: JSONValue? {
        if let example { return example }
        switch form {
        case .any: return isNullable ? .null : .object([])
        case .boolean: return true
        case .integer(let range): return .integer(Int64(range.map { min(max(1, $0.lowerBound), $0.upperBound) } ?? 1))
        case .number: return .number(0.75)
        case .text(let format, let values, let length): return Self.text(format, values, length)
        case .jsonText(let schema): return schema.sample.map { .string(String(decoding: $0.bytes, as: UTF8.self)) }
        case .array(let element, _): return .array(element.sample.map { [$0] } ?? [])
        case .object(let fields):
            return .object(fields.compactMap { field in field.schema.sample.map { JSONMember(field.name, $0) } })
        case .oneOf(let schemas, _): return schemas.first?.sample
        case .named(_, let schema): return schema.sample
        }
    }

    private static func text(_ format: String?, _ values: [String], _ length: ClosedRange<Int>?) -> JSONValue? {
        switch format {
        case "binary": nil
        case "uuid": "6b3f0b5e-6a0c-4f7e-9d0f-2f4f0c9f7b11"
        case "date-time": "2026-03-01T12:00:00.000Z"
        case "decimal": "0.000123"
        default: .string(values.first ?? String("text".prefix(length?.upperBound ?? .max)))
        }
    }
}
