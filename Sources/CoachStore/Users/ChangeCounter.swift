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

    /// Returns one row with `columns`. The limit tells the planner that it is one: a table of one row is never analysed, and planned with 2,000. What is
    /// joined with so many is read for all of a user's rows.
    static func query(for caller: Caller) -> Query {
        """
        select e.epoch, coalesce(n.last_change, 0) as last_change, coalesce(n.removed_through, 0) as removed_through
        from (select epoch from public.database_epoch limit 1) e
        left join public.change_counters n on n.user_id = \(caller.userID)
        """
    }

    /// Of the database and the user: where two users share a device, a token of the one says nothing about the rows of the other.
    static func epoch(for caller: Caller) -> Query { "md5(counter.epoch::text || \(caller.userID)::text)::uuid" }

    static func columns(for caller: Caller) -> Query { "\(epoch(for: caller)), counter.last_change, counter.removed_through" }
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
        token.epoch == epoch && token.number <= max(last, removedThrough) && max(token.number, token.removed ?? 0) >= removedThrough
    }

    /// The position after all changes up to a number, when there are more pages. `token`: the one of the page; nil for a list from the beginning.
    func position(through number: Int64, after token: ChangeToken?) -> SyncPosition {
        let next = ChangeToken(epoch: epoch, number: number, removed: removed(after: token))
        return SyncPosition(next: next.text, hasMore: true)
    }

    /// The position after a page of changes, when there are more pages. `resumeAt`: the page's last row.
    func position(resumeAt row: (number: Int64, id: UUID), after token: ChangeToken?) -> SyncPosition {
        let next = ChangeToken(epoch: epoch, number: row.number, row: row.id, removed: removed(after: token))
        return SyncPosition(next: next.text, hasMore: true)
    }

    /// The number up to which rows were removed before a list from the beginning was begun, so that it does not have them.
    private func removed(after token: ChangeToken?) -> Int64? { token == nil && removedThrough > 0 ? removedThrough : token?.removed }
}
