import CoachCore
import Foundation
import PostgresClient

extension SyncRepository {
    /// Changes in PostgreSQL, by the numbers that every writer takes under a lock: a reader that sees a number sees all rows with lower ones.
    public static func postgres(client: PostgresClient) -> SyncRepository {
        SyncRepository { caller, since, limit in
            var token = try since.map { try SyncToken(text: $0) }
            var own = try await client.changes(of: caller, after: token?.own, limit: limit)
            if own == nil {
                token = nil
                own = try await client.changes(of: caller, after: nil, limit: limit)
            }
            guard let (found, lastPersonaChange) = own else {
                throw StoreFault.unexpected("a synchronisation from the beginning is always valid")
            }
            var page = found
            var next = SyncToken(
                own: try ChangeToken(text: page.position.next), personas: token?.personas ?? -1, lastPersona: token?.lastPersona)
            // All of the user's own rows come before any persona.
            if !page.position.hasMore, next.lastPersona != nil || next.personas != lastPersonaChange {
                let personas = try await client.personaChanges(of: caller, after: next, limit: limit)
                page.position.hasMore = personas.fill(&page.items, limit: limit, moving: &next)
            }
            page.position.next = next.text
            page.position.isReset = since != nil && token == nil
            return page
        }
    }
}

extension PostgresClient {
    /// The changes after a token, or all without one, and the number of the last change of any persona. Nil when the token is no longer valid.
    fileprivate func changes(of caller: Caller, after token: ChangeToken?, limit: Int) async throws -> (SyncPage, lastPersonaChange: Int64)?
    {
        let query = SyncStatement.changes(of: caller, after: token, limit: limit)
        let found = try await StoreFault.translating {
            try await self.query(query, affinity: caller.userID.affinity) { rows in try rows.map { try SyncRow(row: $0) } }
        }
        guard case .counters(let counter, let completeThrough, let lastPersonaChange) = found.first else { return nil }
        guard token.map(counter.accepts) ?? true else { return nil }
        let changed = found.compactMap(\.change)
        let page = changed.prefix(limit)
        let position =
            if changed.count > limit, let last = page.last {
                counter.position(resumeAt: (number: last.number, id: last.id), after: token)
            } else if completeThrough < Int64.max {
                counter.position(through: completeThrough, after: token)
            } else {
                counter.start
            }
        return (SyncPage(items: page.map(\.change), position: position), lastPersonaChange)
    }
}

/// A row of `SyncStatement.changes`.
private enum SyncRow: Sendable {
    case counters(ChangeCounter, completeThrough: Int64, lastPersonaChange: Int64)
    case change(KeyedChange)

    init(row: borrowing Row) throws {
        let column = ChangeCounter.width
        if let completeThrough = try row.value(column, as: Int64?.self) {
            self = .counters(
                try ChangeCounter(row: row), completeThrough: completeThrough, lastPersonaChange: try row.value(column + 1))
        } else {
            self = .change(try KeyedChange(row: row, at: column + 2))
        }
    }

    var change: KeyedChange? { if case .change(let change) = self { change } else { nil } }
}

/// A change with the key by which changes are ordered: `number`, then `id`.
struct KeyedChange: Sendable {
    let number: Int64
    let id: UUID
    let change: SyncChange
}

extension KeyedChange {
    /// Number, id and kind, then the columns of a message, a profile, a conversation and a persona, of which those of the kind are there.
    fileprivate init(row: borrowing Row, at first: Int) throws {
        number = try row.value(first)
        id = try row.value(first + 1)
        let message = first + 3
        let profile = message + MessageRecord.width
        let conversation = profile + ContextProfileVersion.width
        switch try row.value(first + 2, as: Int.self) {
        case 0: change = .profile(try ContextProfileVersion(row: row, at: profile))
        case 1: change = .conversation(try ConversationRecord(row: row, at: conversation))
        case 2: change = .message(try MessageRecord(row: row, at: message))
        default:
            let persona = conversation + ConversationRecord.width
            change =
                try row.value(persona, as: UUID?.self) == nil
                ? .personaRemoved(PersonaID(id)) : .persona(try PublishedPersona(row: row, at: persona))
        }
    }
}
