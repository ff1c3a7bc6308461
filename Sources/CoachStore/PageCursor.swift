import CoachCore
import Foundation
import JSON

extension Page {
    /// From one item more than asked for, if there is one.
    init(_ found: [Element], limit: Int, cursor: (Element) -> PageCursor) {
        let items = Array(found.prefix(limit))
        self.init(items: items, nextCursor: found.count > limit ? items.last.map { cursor($0).text } : nil)
    }
}

/// The key of a page's last item. To clients an opaque text; a made-up one leads to an empty or a shifted page of the caller's own rows.
struct PageCursor: Equatable {
    /// Microseconds or a position, whatever the list is ordered by.
    var key: Int64
    /// Decides between equal keys.
    var id: UUID

    init(key: Int64, id: UUID) {
        self.key = key
        self.id = id
    }

    /// Nil when the text is not a cursor of ours.
    init?(text: String) {
        let parts = text.split(separator: "_", omittingEmptySubsequences: false)
        guard parts.count == 2, let key = Int64(parts[0], radix: 36), let id = UUID(canonical: String(parts[1])) else { return nil }
        self.init(key: key, id: id)
    }

    var text: String { String(key, radix: 36) + "_" + id.canonicalText }
}
