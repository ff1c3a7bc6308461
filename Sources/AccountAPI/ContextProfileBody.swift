import CoachCore
import GatewayAPI
import JSON

/// The body of an edit of the profile.
struct ContextProfileBody: Sendable {
    /// The fields to replace.
    private(set) var fields: [ContextProfileField: [JSONValue]] = [:]

    /// The body of a replacement: fields that are absent become empty.
    static let replacement = body(isPatch: false)
    /// The body of a merge patch (RFC 7396): fields that are absent stay as they are.
    static let patch = body(isPatch: true)

    /// Statements of a field. With the longest statements the length below is reached earlier.
    private static let maximumStatements = 50
    /// Bytes of a field as JSON. The database's limit, 16,000, is that of its own form, which has more spaces.
    private static let maximumBytes = 15_000

    private static func body(isPatch: Bool) -> JSONBody<ContextProfileBody> {
        let text = "strings, or objects with a `text` and what else belongs to it; at most \(maximumBytes) bytes of JSON"
        return JSONBody(
            "ContextProfileEdit", descriptions: Dictionary(uniqueKeysWithValues: ContextProfileField.allCases.map { ($0.rawValue, text) })
        ) { (json) throws(JSONFinding) in try Self(json, isPatch: isPatch) }
    }

    private init(_ json: JSONReader, isPatch: Bool) throws(JSONFinding) {
        for field in ContextProfileField.allCases where !isPatch || json.contains(field.rawValue) {
            // A flaw anywhere inside is a finding.
            let value = try json.value(field.rawValue)
            let statements = try json.optional(field.rawValue, .list(0...Self.maximumStatements, .statement)) ?? []
            if let value, value.bytes.count > Self.maximumBytes {
                try json.report(field.rawValue, .invalid("must not be longer than \(Self.maximumBytes) bytes"))
            }
            fields[field] = statements
        }
    }
}

extension JSONField<JSONValue> {
    /// A text, or an object with a `text`.
    fileprivate static var statement: Self {
        Self { (json) throws(JSONFinding) in
            let length = 1...PromptBuilder.maximumStatementScalars
            let text = JSONField<String>.text(length)
            if json.declares(.either([.text(length), .object([.init("text", .text(length), isRequired: true)])])) { return .null }
            switch json.value {
            case .string: _ = try text.read(json)
            case .object: _ = try json.required("text", text)
            default: try json.report(.invalid("must be a text, or an object with a text"))
            }
            return json.value
        }
    }
}
