import CoachCore
import Foundation
import PostgresClient

extension PostgresClient {
    /// The changes of personas after a token, one more than `limit` when there are so many.
    func personaChanges(of caller: Caller, after token: SyncToken, limit: Int) async throws -> PersonaChanges {
        let (number, row) = (token.personas, token.lastPersona ?? ChangeToken.greatestRow)
        let seen = token.lastPersona == nil ? token.personas : token.personas - 1
        let query: Query = """
            select n.last_change, k.change, k.id, k.kind, o.*, p.* from gateway.persona_counter n
            left join lateral (
                select * from gateway.persona_changes(\(caller.userID), \(number)::bigint, \(row)::uuid, \(limit + 1)::integer)
            ) k on n.last_change > \(seen)::bigint
            left join lateral (
                select \(PersonaRecord.columns) from public.coaching_personas where id = k.id and user_id = \(caller.userID)) o on k.kind = 'own'
            left join lateral (select \(PublishedPersona.columns) from public.published_personas where id = k.id limit 1) p
                on k.kind = 'published'
            order by k.change, k.id
            """
        let found = try await gatewayRows(query, for: caller) { row in
            (last: try row.value(0, as: Int64.self), change: try KeyedChange(persona: row))
        }
        return PersonaChanges(last: found.first?.last, changes: found.compactMap(\.change))
    }
}

/// Changes of personas in their order.
struct PersonaChanges: Sendable {
    /// The number of the latest change of any persona.
    fileprivate let last: Int64?
    fileprivate let changes: [KeyedChange]

    /// Fills a page up to `limit` and moves the token to its end; returns whether there are more.
    func fill(_ items: inout [SyncChange], limit: Int, moving token: inout SyncToken) -> Bool {
        let remaining = limit - items.count
        let page = changes.prefix(remaining)
        items += page.map(\.change)
        if changes.count > remaining {
            if let last = page.last { (token.personas, token.lastPersona) = (last.number, last.id) }
            return true
        }
        if let last { (token.personas, token.lastPersona) = (last, nil) }
        return false
    }
}

extension KeyedChange {
    /// nil for a row without one.
    fileprivate init?(persona row: borrowing Row) throws {
        guard let number = try row.value(1, as: Int64?.self) else { return nil }
        self.number = number
        id = try row.value(2)
        let own = 4
        switch try row.value(3, as: String.self) {
        case "own": change = .ownPersona(try PersonaRecord(row: row, at: own))
        // The view is read in the same snapshot as the list of changes.
        case "published": change = .persona(try PublishedPersona(row: row, at: own + PersonaRecord.width))
        default: change = .personaRemoved(PersonaID(id))
        }
    }
}
