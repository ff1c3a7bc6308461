import CoachCore
import Foundation
import JSON

/// A client's position in all changes: in those of the user's own rows, and in those of personas, which are numbered for all users together.
struct SyncToken: Equatable {
    var own: ChangeToken
    /// As `ChangeToken.number`; -1: none.
    var personas: Int64
    /// As `ChangeToken.row`.
    var lastPersona: UUID?

    init(own: ChangeToken, personas: Int64, lastPersona: UUID?) {
        self.own = own
        self.personas = personas
        self.lastPersona = lastPersona
    }

    /// Throws `InvalidChangeToken` for a malformed text.
    init(text: String) throws(InvalidChangeToken) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard (2...3).contains(parts.count), let own = try? ChangeToken(text: String(parts[0])),
            let number = Int64(parts[1], radix: 36), number >= -1
        else { throw InvalidChangeToken(.since) }
        self.init(own: own, personas: number, lastPersona: nil)
        guard parts.count == 3 else { return }
        guard let id = UUID(canonical: String(parts[2])) else { throw InvalidChangeToken(.since) }
        lastPersona = id
    }

    var text: String {
        let parts = [own.text, String(personas, radix: 36)] + (lastPersona.map { [$0.canonicalText] } ?? [])
        return parts.joined(separator: ".")
    }
}
