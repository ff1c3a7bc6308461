import CoachCore
import Foundation
import JSON

extension Page {
    /// From up to `limit + 1` items.
    init(_ found: [Element], limit: Int, cursor: (Element) -> PageCursor) {
        let items = Array(found.prefix(limit))
        self.init(items: items, nextCursor: found.count > limit ? items.last.map { cursor($0).text } : nil)
    }
}

/// The key of a page's last item, opaque to clients. A forged one selects another part of the caller's own rows.
struct PageCursor: Equatable {
    /// The list's sort key: microseconds or a position.
    var key: Int64
    /// Orders equal keys.
    var id: UUID

    init(key: Int64, id: UUID) {
        self.key = key
        self.id = id
    }

    /// nil for a malformed text.
    init?(text: String) {
        let parts = text.split(separator: "_", omittingEmptySubsequences: false)
        guard parts.count == 2, let key = Int64(parts[0], radix: 36), let id = UUID(canonical: String(parts[1])) else { return nil }
        self.init(key: key, id: id)
    }

    var text: String { String(key, radix: 36) + "_" + id.canonicalText }
}
