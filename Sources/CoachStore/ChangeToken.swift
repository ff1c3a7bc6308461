import CoachCore
import Foundation
import JSON

/// How far a client has come with the changes of a user's rows: `updated_since`, to clients an opaque text.
struct ChangeToken: Equatable {
    /// Of the database that gave out the number.
    var epoch: UUID
    /// The client has all changes below this number …
    var number: Int64
    /// … and of those with it the rows up to this one; nil: all.
    var row: UUID?

    init(epoch: UUID, number: Int64, row: UUID? = nil) {
        self.epoch = epoch
        self.number = number
        self.row = row
    }

    /// Throws `InvalidChangeToken` when the text is not one of ours.
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

    /// The greatest id, so that rows compare with every token alike.
    var lastRow: UUID { row ?? UUID(uuid: (255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255)) }
}
