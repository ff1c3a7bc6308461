import CoachCore
import Foundation
import JSON

/// A client's position in the changes of a user's rows: the value of `updated_since`, opaque to clients.
struct ChangeToken: Equatable {
    /// Of the database (`public.database_epoch`) and the user when the number was assigned.
    var epoch: UUID
    /// The client has all changes below this number.
    var number: Int64
    /// The client has the rows up to this id of the changes with this number; nil: all of them.
    var row: UUID?
    /// For a list from the beginning that has more pages: it was begun after the rows up to this number were removed, so it lacks none of them. nil
    /// when none had been removed.
    var removed: Int64?

    init(epoch: UUID, number: Int64, row: UUID? = nil, removed: Int64? = nil) {
        self.epoch = epoch
        self.number = number
        self.row = row
        self.removed = removed
    }

    /// Throws `InvalidChangeToken` for a malformed text.
    init(text: String) throws(InvalidChangeToken) {
        let parts = text.split(separator: "_", omittingEmptySubsequences: false)
        guard (2...4).contains(parts.count), let epoch = UUID(canonical: String(parts[0])), let number = Int64(parts[1], radix: 36),
            number >= 0
        else { throw InvalidChangeToken() }
        self.init(epoch: epoch, number: number)
        if parts.count > 2, parts.count == 3 || !parts[2].isEmpty {
            guard let row = UUID(canonical: String(parts[2])) else { throw InvalidChangeToken() }
            self.row = row
        }
        if parts.count > 3 {
            guard let removed = Int64(parts[3], radix: 36), removed >= 0 else { throw InvalidChangeToken() }
            self.removed = removed
        }
    }

    var text: String {
        var parts = [epoch.canonicalText, String(number, radix: 36)]
        if row != nil || removed != nil { parts.append(row?.canonicalText ?? "") }
        if let removed { parts.append(String(removed, radix: 36)) }
        return parts.joined(separator: "_")
    }

    /// `row`, or the greatest id when it is nil, so that one SQL comparison works for both.
    var lastRow: UUID { row ?? Self.greatestRow }

    static let greatestRow = UUID(uuid: (255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255))
}
