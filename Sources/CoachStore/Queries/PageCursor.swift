import CoachCore
import Foundation
import JSON
import PostgresClient

extension Page {
    /// From up to `limit + 1` items; the last one only shows that there is a next page.
    init(_ found: [Element], limit: Int, cursor: (Element) -> PageCursor) {
        let items = Array(found.prefix(limit))
        self.init(items: items, nextCursor: found.count > limit ? items.last.map { cursor($0).text } : nil)
    }
}

/// The position after a page: the sort key and id of its last item. Opaque to clients. It needs no signature, because a forged one only
/// selects another part of the caller's own rows.
struct PageCursor: Equatable {
    /// The list's sort key: microseconds or a position.
    var key: Int64
    /// The id of the item, which orders items with equal keys.
    var id: UUID

    init(key: Int64, id: UUID) {
        self.key = key
        self.id = id
    }

    /// Nil for a malformed text.
    init?(text: String) {
        let parts = text.split(separator: "_", omittingEmptySubsequences: false)
        guard parts.count == 2, let key = Int64(parts[0], radix: 36), let id = UUID(canonical: String(parts[1])) else { return nil }
        self.init(key: key, id: id)
    }

    var text: String { String(key, radix: 36) + "_" + id.canonicalText }
}

extension PageCursor {
    /// The keys that are times, in microseconds since 1970: those of the years 1970 to 9999.
    static let times: Range<Int64> = 0..<253_402_300_800_000_000

    /// The key as a time, for a list that is sorted by time. Throws `InvalidCursor` when it is not in `times`.
    var timestamp: Query {
        get throws(InvalidCursor) {
            guard Self.times.contains(key) else { throw InvalidCursor() }
            return "timestamptz 'epoch' + \(key)::bigint * interval '1 microsecond'"
        }
    }
}

extension PageRequest {
    /// Throws `InvalidCursor`.
    var pageCursor: PageCursor? {
        get throws(InvalidCursor) {
            guard let cursor else { return nil }
            guard let parsed = PageCursor(text: cursor) else { throw InvalidCursor() }
            return parsed
        }
    }
}
