import CoachCore
import Foundation
import PostgresClient

/// A user's change counter, read in the same snapshot as a page.
struct ChangeCounter: Sendable {
    private let epoch: UUID
    private let last: Int64
    /// Rows with numbers up to this one may have been removed without a tombstone.
    private let removedThrough: Int64

    /// Returns one row with `columns`.
    static func query(for caller: Caller) -> Query {
        """
        select e.epoch, coalesce(n.last_change, 0) as last_change, coalesce(n.removed_through, 0) as removed_through
        from public.database_epoch e left join public.change_counters n on n.user_id = \(caller.userID)
        """
    }

    static let columns: Query = "counter.epoch, counter.last_change, counter.removed_through"
    /// The number of `columns`.
    static let width = 3

    init(row: borrowing Row) throws {
        epoch = try row.value(0)
        last = try row.value(1)
        removedThrough = try row.value(2)
    }

    /// The position after a page of the whole list.
    var start: Changes { Changes(next: ChangeToken(epoch: epoch, number: last).text) }

    /// Whether a token is still valid. It is not after a backup was restored, because then numbers are assigned again.
    func accepts(_ token: ChangeToken) -> Bool {
        token.epoch == epoch && (removedThrough...max(last, removedThrough)).contains(token.number)
    }

    /// The position after a page of changes. `resumeAt`: the page's last row, when there are more pages.
    func changes(resumeAt row: (number: Int64, id: UUID)?) -> Changes {
        guard let row else { return start }
        return Changes(next: ChangeToken(epoch: epoch, number: row.number, row: row.id).text, hasMore: true)
    }
}
