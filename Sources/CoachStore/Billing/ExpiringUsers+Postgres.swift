import CoachCore
import PostgresClient

/// The position in `BillingInbox.expiring`.
private struct ExpiryCursor {
    /// In their order.
    enum List: String {
        case endingAccess = "ending"
        case endedAccess = "ended"

        /// Reads a page.
        var function: Query {
            switch self {
            case .endingAccess: "gateway.ending_access"
            case .endedAccess: "gateway.ended_access"
            }
        }
    }

    var list = List.endingAccess
    /// Microseconds since 1970, and the id, of the last row; nil for the first page of the list.
    var last: (moment: Int64, id: String)?
}

extension ExpiryCursor {
    /// Throws `InvalidCursor`.
    init(text: String) throws(InvalidCursor) {
        let parts = text.split(separator: " ")
        guard let list = parts.first.flatMap({ List(rawValue: String($0)) }) else { throw InvalidCursor() }
        self.list = list
        guard parts.count > 1 else { return }
        guard parts.count == 3, let moment = Int64(parts[1]) else { throw InvalidCursor() }
        last = (moment, String(parts[2]))
    }

    var text: String { list.rawValue + (last.map { " \($0.moment) \($0.id)" } ?? "") }
}

extension PostgresClient {
    /// `BillingInbox.expiring`: reads at most `limit` rows, in the order of an index.
    func expiringUsers(within: Duration, cursor: String?, limit: Int) async throws -> Page<UserID> {
        let cursor = try cursor.map { text throws(InvalidCursor) in try ExpiryCursor(text: text) } ?? ExpiryCursor()
        let query: Query = """
            select moment, id, users from \(cursor.list.function)(
                \(Int(within.components.seconds))::integer, \(cursor.last?.moment), \(cursor.last?.id), \(limit)::integer)
            """
        let rows = try await StoreFault.translating {
            try await self.query(query) { rows in
                try rows.map { row in
                    (
                        moment: try row.value(0, as: Int64.self), id: try row.value(1, as: String.self),
                        users: try row.value(2, as: [String].self)
                    )
                }
            }
        }
        var next: ExpiryCursor?
        if let last = rows.last, rows.count == limit {
            next = ExpiryCursor(list: cursor.list, last: (last.moment, last.id))
        } else if cursor.list == .endingAccess {
            next = ExpiryCursor(list: .endedAccess)
        }
        return Page(items: rows.flatMap(\.users).compactMap { UserID(validating: $0) }, nextCursor: next?.text)
    }
}
