import CoachCore
import Foundation
import PostgresClient

/// What a user's counter said in the snapshot that a page was read in.
struct ChangeCounter: Sendable {
    private let epoch: UUID
    private let last: Int64
    /// Rows with numbers below it may have been removed without a trace.
    private let removedThrough: Int64

    /// Always one row; `columns` are its own.
    static func query(for caller: Caller) -> Query {
        """
        select e.epoch, coalesce(n.last_change, 0) as last_change, coalesce(n.removed_through, 0) as removed_through
        from public.database_epoch e left join public.change_counters n on n.user_id = \(caller.userID)
        """
    }

    static let columns: Query = "counter.epoch, counter.last_change, counter.removed_through"
    /// How many columns that are.
    static let width = 3

    init(row: borrowing Row) throws {
        epoch = try row.value(0)
        last = try row.value(1)
        removedThrough = try row.value(2)
    }

    /// Of a page of the whole list.
    var start: Changes { Changes(next: ChangeToken(epoch: epoch, number: last).text) }

    /// Whether a token means what it meant when it was given out. Not after a restored backup, where numbers are given out again.
    func knows(_ token: ChangeToken) -> Bool {
        token.epoch == epoch && (removedThrough...max(last, removedThrough)).contains(token.number)
    }

    /// After a page of changes; `resumeAt` is the last row of a page that is not the last.
    func changes(resumeAt row: (number: Int64, id: UUID)?) -> Changes {
        guard let row else { return start }
        return Changes(next: ChangeToken(epoch: epoch, number: row.number, row: row.id).text, hasMore: true)
    }
}
