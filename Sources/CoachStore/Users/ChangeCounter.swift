import CoachCore
import Foundation
import PostgresClient

/// A user's change counter (`public.change_counters`), which numbers the changes of the user's rows. Read in the same snapshot as a page,
/// so that the page has all changes up to it.
struct ChangeCounter: Sendable {
    private let epoch: UUID
    private let last: Int64
    /// Changes up to this number may be incomplete: rows were removed without a tombstone.
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

    /// The position for a client that has just read the complete list.
    var start: SyncPosition { SyncPosition(next: ChangeToken(epoch: epoch, number: last).text) }

    /// Whether a token is still valid. It is not when removed rows would be missed, or after a backup was restored, because then numbers
    /// are assigned again.
    func accepts(_ token: ChangeToken) -> Bool {
        token.epoch == epoch && (removedThrough...max(last, removedThrough)).contains(token.number)
    }

    /// The position after all changes up to a number, when there are more pages.
    func position(through number: Int64) -> SyncPosition {
        SyncPosition(next: ChangeToken(epoch: epoch, number: number).text, hasMore: true)
    }

    /// The position after a page of changes. `resumeAt`: the page's last row, when there are more pages.
    func position(resumeAt row: (number: Int64, id: UUID)?) -> SyncPosition {
        guard let row else { return start }
        return SyncPosition(next: ChangeToken(epoch: epoch, number: row.number, row: row.id).text, hasMore: true)
    }
}
