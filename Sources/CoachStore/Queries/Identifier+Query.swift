import CoachCore
import Foundation
import PostgresClient

extension Identifier: QueryValue {
    public var queryParameter: QueryParameter { .text(description) }
}

extension Identifier: QueryArrayElement {
    public static func parameter(of array: [Self]) -> QueryParameter { UUID.parameter(of: array.map(\.uuid)) }
}

extension Identifier: ColumnValue {
    public init?(column: UnsafeRawBufferPointer?) {
        guard let uuid = UUID(column: column) else { return nil }
        self.init(uuid)
    }
}

extension Domain: QueryValue {
    public var queryParameter: QueryParameter { rawValue.queryParameter }
}
