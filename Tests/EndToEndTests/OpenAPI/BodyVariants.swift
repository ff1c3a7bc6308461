import Foundation

/// Bodies made from a schema of the OpenAPI document: for each member values at its limits, and values just beyond them.
struct BodyVariants {
    struct Variant {
        /// The path of the changed member, in the form of `details.field`.
        var field: String
        var change: String
        var body: [String: Any]
        /// Whether the schema accepts the body.
        var isValid: Bool
    }

    private static var ofEveryType: [(String, Any)] {
        [("string", "x"), ("integer", 7.5), ("boolean", true), ("array", ["x"]), ("object", ["x": "y"])]
    }

    private let schemas: [String: Any]
    private(set) var all: [Variant] = []

    /// - Parameters:
    ///   - schemas: `components.schemas`.
    ///   - example: the documented one, from which each variant differs in one member.
    init(of schema: [String: Any], example: [String: Any], schemas: [String: Any]) {
        self.schemas = schemas
        members(of: resolved(schema), in: example, path: "") { $0 }
    }

    /// - Parameter whole: puts a changed object to its place in the body.
    private mutating func members(
        of schema: [String: Any], in object: [String: Any], path: String, _ whole: @escaping ([String: Any]) -> [String: Any]
    ) {
        let required = schema["required"] as? [String] ?? []
        for (name, member) in (schema["properties"] as? [String: [String: Any]] ?? [:]).sorted(by: { $0.key < $1.key }) {
            let schema = resolved(member)
            let field = path.isEmpty ? name : "\(path).\(name)"
            func replacing(_ value: Any?) -> [String: Any] {
                var copy = object
                copy[name] = value
                return whole(copy)
            }
            let isRequired = required.contains(name)
            all.append(Variant(field: field, change: "absent", body: replacing(nil), isValid: !isRequired))
            all.append(Variant(field: field, change: "null", body: replacing(NSNull()), isValid: !isRequired && accepts("null", schema)))
            for (change, value, isValid) in values(of: schema) {
                all.append(Variant(field: field, change: change, body: replacing(value), isValid: isValid))
            }
            if accepts("object", schema), let inner = object[name] as? [String: Any] {
                members(of: schema, in: inner, path: field) { replacing($0) }
            }
        }
        var more = object
        more["not_a_member"] = ["x"]
        all.append(
            Variant(field: path.isEmpty ? "not_a_member" : "\(path).not_a_member", change: "unknown", body: whole(more), isValid: true))
    }

    private func values(of schema: [String: Any]) -> [(String, Any, Bool)] {
        var values: [(String, Any, Bool)] = []
        // No type: any value.
        if schema["type"] == nil { return values }
        for (type, value) in Self.ofEveryType where !accepts(type, schema) { values.append(("type \(type)", value, false)) }
        if accepts("string", schema) { values += texts(of: schema) }
        if accepts("integer", schema) {
            if let minimum = schema["minimum"] as? Int { values += [("minimum", minimum, true), ("below", minimum - 1, false)] }
            if let maximum = schema["maximum"] as? Int { values += [("maximum", maximum, true), ("above", maximum + 1, false)] }
        }
        if accepts("array", schema), let element = (schema["items"] as? [String: Any]).map(resolved) {
            for (change, value, isValid) in self.values(of: element) { values.append(("element \(change)", [value], isValid)) }
            if let maximum = schema["maxItems"] as? Int {
                values.append(("too many", Array(repeating: "en", count: maximum + 1), false))
                values.append(("many", Array(repeating: "en", count: maximum), true))
            }
        }
        return values
    }

    private func texts(of schema: [String: Any]) -> [(String, Any, Bool)] {
        if let choices = schema["enum"] as? [Any] {
            return choices.compactMap { $0 as? String }.map { ("\($0)", $0, true) } + [("no choice", "no such value", false)]
        }
        if schema["format"] != nil { return [("malformed", "x", false)] }
        var values: [(String, Any, Bool)] = []
        if let maximum = schema["maxLength"] as? Int {
            // Scalars, not bytes.
            values.append(("longest", String(repeating: "é", count: maximum), true))
            values.append(("too long", String(repeating: "a", count: maximum + 1), false))
        }
        if (schema["minLength"] as? Int ?? 0) > 0 {
            values += [("empty", "", false), ("blank", " \n", false), ("shortest", "é", true)]
        } else if schema["maxLength"] != nil {
            values.append(("empty", "", true))
        }
        return values
    }

    private func accepts(_ type: String, _ schema: [String: Any]) -> Bool {
        schema["type"] == nil || schema["type"] as? String == type || (schema["type"] as? [String])?.contains(type) == true
    }

    private func resolved(_ schema: [String: Any]) -> [String: Any] {
        guard let reference = schema["$ref"] as? String, let name = reference.split(separator: "/").last else { return schema }
        return schemas[String(name)] as? [String: Any] ?? [:]
    }
}
