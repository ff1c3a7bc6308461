import CoachCore
import PostgresClient

extension Identifier: QueryValue {
    public var queryParameter: QueryParameter { .text(description) }
}

extension Identifier: QueryArrayElement {}

extension Domain: QueryValue {
    public var queryParameter: QueryParameter { rawValue.queryParameter }
}

extension Query.Interpolation {
    /// A value, or NULL.
    mutating func appendInterpolation<Value: QueryValue>(_ value: Value?) {
        if let value { appendInterpolation(value) } else { appendLiteral("null") }
    }
}
