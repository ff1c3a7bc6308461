import CoachCore
import Foundation
import PostgresClient

/// A row of a page with the change counter of the same snapshot, by a left join: an empty page is one row without a record.
struct CountedRow<Record: Sendable>: Sendable {
    let counter: ChangeCounter
    let record: Record?

    /// `decode` reads from the column `first` on; NULL in that column means no record.
    init(row: borrowing Row, at first: Int = ChangeCounter.width, decode: (borrowing Row, Int) throws -> Record) throws {
        counter = try ChangeCounter(row: row)
        let isThere = try row.value(first, as: String?.self) != nil
        record = isThere ? try decode(row, first) : nil
    }
}

/// A record and the number of its latest change.
struct ChangedRecord<Record: Sendable>: Sendable {
    let number: Int64
    let record: Record
}

extension Page {
    /// A page of changes in their order, from up to `limit + 1` rows. Nil when the token is no longer valid.
    init?(changes found: [CountedRow<ChangedRecord<Element>>], after token: ChangeToken, limit: Int, id: (Element) -> UUID) {
        guard let counter = found.first?.counter, counter.accepts(token) else { return nil }
        let changed = found.compactMap(\.record)
        let page = changed.prefix(limit)
        let resumeAt = changed.count > limit ? page.last.map { ($0.number, id($0.record)) } : nil
        let position = resumeAt.map { counter.position(resumeAt: $0, after: token) } ?? counter.start
        self.init(items: page.map(\.record), nextCursor: nil, position: position)
    }

    func with(_ position: SyncPosition?, isReset: Bool) -> Self {
        var page = self
        page.position = position
        page.position?.isReset = isReset
        return page
    }
}
