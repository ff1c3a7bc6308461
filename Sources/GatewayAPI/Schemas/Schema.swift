import JSON

/// A JSON Schema (draft 2020-12), the dialect of OpenAPI 3.1, as far as the wire types need it.
public struct Schema: Sendable, Equatable {
    public indirect enum Form: Sendable, Equatable {
        case any
        case boolean
        case integer(ClosedRange<Int>?)
        case number
        case text(format: String?, values: [String], length: ClosedRange<Int>?)
        /// JSON inside a string.
        case jsonText(Schema)
        case array(Schema, count: ClosedRange<Int>?)
        case object([Field])
        /// One of several. `discriminator`: the member whose value tells which one; then they are named objects.
        case oneOf([Schema], discriminator: String?)
        /// A reference to `components/schemas`.
        case named(String, Schema)
    }

    /// A member of an object.
    public struct Field: Sendable, Equatable {
        public var name: String
        public var schema: Schema
        /// Responses have every member; members of a request are optional unless the route requires them.
        public var isRequired: Bool

        public init(_ name: String, _ schema: Schema, required isRequired: Bool = true) {
            self.name = name
            self.schema = schema
            self.isRequired = isRequired
        }

        /// A member of a request that may be absent or `null`.
        public static func optional(_ name: String, _ schema: Schema) -> Self { Self(name, schema.nullable, required: false) }
    }

    public var form: Form
    public var isNullable = false
    public var description: String?
    /// A value of it; nil: `sample` makes one.
    public var example: JSONValue?

    public init(_ form: Form) { self.form = form }
}

extension Schema {
    public static let any = Schema(.any)
    public static let boolean = Schema(.boolean)
    public static let integer = Schema(.integer(nil))
    public static let number = Schema(.number)
    public static let text = Schema(.text(format: nil, values: [], length: nil))
    /// A UUID in lower case.
    public static let id = Schema(.text(format: "uuid", values: [], length: nil))
    /// Bytes.
    public static let binary = Schema(.text(format: "binary", values: [], length: nil))
    /// RFC 3339 in UTC.
    public static let time = Schema(.text(format: "date-time", values: [], length: nil))
    /// A decimal number of US dollars as a string.
    public static let money = Schema(.text(format: "decimal", values: [], length: nil))

    public static func integer(_ range: ClosedRange<Int>) -> Schema { Schema(.integer(range)) }
    /// At most `maximumLength` Unicode scalars.
    public static func text(maximumLength: Int) -> Schema { text(length: 0...maximumLength) }
    /// A length in Unicode scalars. Unless length 0 is allowed, the text is not only white space.
    public static func text(length: ClosedRange<Int>) -> Schema { Schema(.text(format: nil, values: [], length: length)) }
    /// One of these strings.
    public static func values(_ values: [String]) -> Schema { Schema(.text(format: nil, values: values, length: nil)) }
    public static func array(of element: Schema, count: ClosedRange<Int>? = nil) -> Schema { Schema(.array(element, count: count)) }
    public static func object(_ fields: [Field]) -> Schema { Schema(.object(fields)) }
    /// - Parameter discriminator: a member that all have. They are named objects, and its declared values are each one's own.
    public static func oneOf(_ schemas: [Schema], discriminator: String? = nil) -> Schema {
        Schema(.oneOf(schemas, discriminator: discriminator))
    }

    /// A server-sent event with such an object in its `data`.
    public static func serverSentEvent(of data: Schema) -> Schema {
        .object([.init("id", .text, required: false), .init("data", Schema(.jsonText(data)))])
    }

    /// The same schema under a name in `components/schemas`.
    public func named(_ name: String) -> Schema { Schema(.named(name, self)) }

    /// The value or `null`.
    public var nullable: Schema {
        var copy = self
        copy.isNullable = true
        return copy
    }

    public func described(_ text: String) -> Schema {
        var copy = self
        copy.description = text
        return copy
    }

    public func exemplified(_ value: JSONValue) -> Schema {
        var copy = self
        copy.example = value
        return copy
    }

    /// The named schemas that this one refers to, directly and indirectly.
    public var references: [String: Schema] {
        switch form {
        case .any, .boolean, .integer, .number, .text: [:]
        case .array(let element, _), .jsonText(let element): element.references
        case .object(let fields): Self.merged(fields.map(\.schema))
        case .oneOf(let schemas, _): Self.merged(schemas)
        case .named(let name, let schema): schema.references.merging([name: schema]) { first, _ in first }
        }
    }

    private static func merged(_ schemas: [Schema]) -> [String: Schema] {
        schemas.reduce(into: [:]) { $0.merge($1.references) { first, _ in first } }
    }
}

/// A type of the wire that documents itself.
public protocol WireResource: Sendable {
    /// Its name in `components/schemas`.
    static var schemaName: String { get }
    /// Its members in the order of `write(to:)`, which is also the order of CSV columns.
    static var fields: [Schema.Field] { get }
    /// Writes one JSON object.
    func write(to writer: inout JSONWriter)
}

extension WireResource {
    public static var schema: Schema { .object(fields).named(schemaName) }
}
