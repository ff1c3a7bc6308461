import JSON

extension Schema {
    /// Writes the schema as a JSON object.
    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            switch form {
            case .any: break
            case .boolean: writeType("boolean", to: &writer)
            case .number: writeType("number", to: &writer)
            case .integer(let range):
                writeType("integer", to: &writer)
                // Without it generated clients read 32 bits (OpenAPI 3.1 §4.4).
                if range.map({ Int32(exactly: $0.lowerBound) == nil || Int32(exactly: $0.upperBound) == nil }) ?? true {
                    writer.member("format", "int64")
                }
                if let range {
                    writer.member("minimum", range.lowerBound)
                    writer.member("maximum", range.upperBound)
                }
            case .text(let format, let values, let length): writeText(format, values, length, to: &writer)
            case .jsonText(let schema):
                writeType("string", to: &writer)
                writer.member("contentMediaType", "application/json")
                writer.key("contentSchema")
                schema.write(to: &writer)
            case .array(let element, let count):
                writeType("array", to: &writer)
                writeBounds("minItems", "maxItems", count, to: &writer)
                writer.key("items")
                element.write(to: &writer)
            case .object(let fields): write(fields, to: &writer)
            case .oneOf(let schemas, let discriminator): writeAlternatives(schemas, discriminator, to: &writer)
            case .named(let name, _): writeReference(name, to: &writer)
            }
            if let description { writer.member("description", description) }
        }
    }

    private func writeType(_ type: String, to writer: inout JSONWriter) {
        writer.key("type")
        if isNullable {
            writer.array { writer in
                writer.string(type)
                writer.string("null")
            }
        } else {
            writer.string(type)
        }
    }

    private func writeText(_ format: String?, _ values: [String], _ length: ClosedRange<Int>?, to writer: inout JSONWriter) {
        writeType("string", to: &writer)
        if let format { writer.member("format", format) }
        writeBounds("minLength", "maxLength", length, to: &writer)
        if let length, length.lowerBound > 0 { writer.member("pattern", "\\S") }
        guard !values.isEmpty else { return }
        writer.key("enum")
        writer.array { writer in
            for value in values { writer.string(value) }
            if isNullable { writer.null() }
        }
    }

    /// Bounds of a length. Those that every value has are left out.
    private func writeBounds(_ minimum: StaticString, _ maximum: StaticString, _ bounds: ClosedRange<Int>?, to writer: inout JSONWriter) {
        guard let bounds else { return }
        if bounds.lowerBound > 0 { writer.member(minimum, bounds.lowerBound) }
        if bounds.upperBound < .max { writer.member(maximum, bounds.upperBound) }
    }

    private func write(_ fields: [Field], to writer: inout JSONWriter) {
        writeType("object", to: &writer)
        writer.key("properties")
        writer.object { writer in
            for field in fields {
                writer.key(field.name)
                field.schema.write(to: &writer)
            }
        }
        let required = fields.filter(\.isRequired)
        guard !required.isEmpty else { return }
        writer.key("required")
        writer.array { writer in for field in required { writer.string(field.name) } }
    }

    private func writeReference(_ name: String, to writer: inout JSONWriter) {
        let reference = Self.reference(to: name)
        guard isNullable else { return writer.member("$ref", reference) }
        writer.key("anyOf")
        writer.array { writer in
            writer.object { $0.member("$ref", reference) }
            writer.object { $0.member("type", "null") }
        }
    }

    private static func reference(to name: String) -> String { "#/components/schemas/\(name)" }

    private func writeAlternatives(_ schemas: [Schema], _ discriminator: String?, to writer: inout JSONWriter) {
        writer.key(literal: "oneOf")
        writer.array { writer in for schema in schemas { schema.write(to: &writer) } }
        guard let discriminator else { return }
        writer.key(literal: "discriminator")
        writer.object { writer in
            writer.member("propertyName", discriminator)
            writer.key(literal: "mapping")
            writer.object { writer in
                for (value, name) in Self.mapping(of: schemas, by: discriminator) {
                    writer.key(value)
                    writer.string(Self.reference(to: name))
                }
            }
        }
    }

    /// The declared values of a member, each with the name of its schema.
    private static func mapping(of schemas: [Schema], by member: String) -> [(value: String, name: String)] {
        schemas.flatMap { schema -> [(value: String, name: String)] in
            guard case .named(let name, let object) = schema.form, case .object(let fields) = object.form,
                case .text(_, let values, _)? = fields.first(where: { $0.name == member })?.schema.form
            else { return [] }
            return values.map { (value: $0, name: name) }
        }
    }
}
