import JSON

/// The JSON body of a route: its reader, and the schema that the reader's own declarations make. So a document cannot name another type, bound
/// or member than the server reads.
public struct JSONBody<Value>: BodyDescription {
    public let schema: Schema
    public private(set) var mayBeEmpty: Bool
    private let read: @Sendable (JSONReader) throws(JSONFinding) -> Value

    /// - Parameters:
    ///   - name: in `components/schemas`.
    ///   - descriptions: of members.
    ///   - examples: of members; those without one get a value of their form.
    ///   - mayBeEmpty: whether a request without a body counts as one with `{}`.
    ///   - read: must be pure: it may run twice, and it runs once without a text.
    public init(
        _ name: String, descriptions: [String: String] = [:], examples: [String: JSONValue] = [:], mayBeEmpty: Bool = false,
        _ read: @escaping @Sendable (JSONReader) throws(JSONFinding) -> Value
    ) {
        self.read = read
        self.mayBeEmpty = mayBeEmpty
        guard case .object(var fields) = Schema(declared: JSONDeclaration(of: read)).form else {
            preconditionFailure("a body is an object")
        }
        let names = fields.map(\.name)
        for member in Set(descriptions.keys).union(examples.keys) { precondition(names.contains(member), "\(name) has no \(member)") }
        for (index, member) in names.enumerated() {
            if let text = descriptions[member] { fields[index].schema = fields[index].schema.described(text) }
            if let value = examples[member] { fields[index].schema = fields[index].schema.exemplified(value) }
        }
        schema = Schema.object(fields).named(name)
    }

    /// The same body, where an empty one counts as `{}`.
    public var allowingEmpty: Self {
        var copy = self
        copy.mayBeEmpty = true
        return copy
    }

    /// Reads a body and throws all findings at once. An empty one is malformed unless it `mayBeEmpty`.
    public func value(of bytes: [UInt8]) throws(JSONFindings) -> Value {
        try JSONReader.read(requestBody: mayBeEmpty && bytes.isEmpty ? Array("{}".utf8) : bytes, read)
    }
}

/// What the OpenAPI document says of a JSON body.
public protocol BodyDescription: Sendable {
    var schema: Schema { get }
    var mayBeEmpty: Bool { get }
}

extension BodyDescription {
    public var mayBeEmpty: Bool { false }
}

/// A body of a protocol that is not ours: the document names at most the members that have an effect here.
public struct ForeignBody: BodyDescription {
    public let schema: Schema

    public init(_ schema: Schema) { self.schema = schema }
}
