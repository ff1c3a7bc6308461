import CoachCore
import Foundation
import JSON

/// A client's position in the changes of a user's rows: the value of `updated_since`, opaque to clients.
struct ChangeToken: Equatable {
    /// The value of `public.database_epoch` when the number was assigned.
    var epoch: UUID
    /// The client has all changes below this number.
    var number: Int64
    /// Of the changes with this number, the client has the rows up to this id; nil: all of them.
    var row: UUID?

    init(epoch: UUID, number: Int64, row: UUID? = nil) {
        self.epoch = epoch
        self.number = number
        self.row = row
    }

    /// Throws `InvalidChangeToken` for a malformed text.
    init(text: String) throws(InvalidChangeToken) {
        let parts = text.split(separator: "_", omittingEmptySubsequences: false)
        guard (2...3).contains(parts.count), let epoch = UUID(canonical: String(parts[0])), let number = Int64(parts[1], radix: 36),
            number >= 0
        else { throw InvalidChangeToken() }
        self.init(epoch: epoch, number: number)
        guard parts.count == 3 else { return }
        guard let row = UUID(canonical: String(parts[2])) else { throw InvalidChangeToken() }
        self.row = row
    }

    var text: String {
        let parts = [epoch.canonicalText, String(number, radix: 36)] + (row.map { [$0.canonicalText] } ?? [])
        return parts.joined(separator: "_")
    }

    /// `row`, or the greatest id when it is nil, so that one SQL comparison works for both.
    var lastRow: UUID { row ?? Self.greatestRow }

    static let greatestRow = UUID(uuid: (255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255))
}
