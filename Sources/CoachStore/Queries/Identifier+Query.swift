import CoachCore
import PostgresClient

extension Identifier: QueryValue {
    public var queryParameter: QueryParameter { .text(description) }
}

extension Identifier: QueryArrayElement {}

extension Domain: QueryValue {
    public var queryParameter: QueryParameter { rawValue.queryParameter }
}
