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
            guard var page = own else { throw StoreFault.unexpected("a synchronisation from the beginning is always valid") }
            var next = SyncToken(
                own: try ChangeToken(text: page.position.next), personas: token?.personas ?? -1, lastPersona: token?.lastPersona)
            if !page.position.hasMore {
                page.position.hasMore = try await client.addPersonaChanges(of: caller, to: &page.items, limit: limit, &next)
            }
            page.position.next = next.text
            page.position.isReset = since != nil && token == nil
            return page
        }
    }
}

extension PostgresClient {
    /// The changes after a token, or all without one. Nil when the token is no longer valid.
    fileprivate func changes(of caller: Caller, after token: ChangeToken?, limit: Int) async throws -> SyncPage? {
        let (number, row) = (token?.number ?? -1, token?.lastRow ?? ChangeToken.greatestRow)
        // Compared with the counter before any row is read, because most requests find nothing new.
        let seen = token.map { $0.row == nil ? $0.number : $0.number - 1 } ?? -1
        // Selects keys first, so that only the rows of the page are read completely. A message includes the domain of its turn, so it also
        // changes with the turn, and every change of a turn comes with one of its answer or of its user's message (write_answer). So these
        // are found by the index of messages by change, up to a bound, above which nothing is read: the messages of a page have at most two
        // changes each. Lateral look-ups keep the planner from reading all of the user's messages. Rows of one transaction have the same
        // number and are ordered by id, also across tables.
        let query: Query = """
            with counter as (\(ChangeCounter.query(for: caller))), bound as materialized (
                select coalesce((
                    select m.change from public.messages m where m.user_id = \(caller.userID) and m.change > \(seen)::bigint
                    order by m.change offset \(2 * (limit + 1)) limit 1), 9223372036854775807) as change
            ), changed as materialized (
                select m.id, m.turn_id from counter cross join bound cross join lateral (
                    select m.id, m.turn_id from public.messages m
                    where m.user_id = \(caller.userID) and m.change > \(seen)::bigint and m.change <= bound.change offset 0) m
                where counter.last_change > \(seen)::bigint
            ), candidate as (
                select changed.id from changed
                union
                select t.user_message_id from changed cross join lateral (
                    select t.user_message_id from public.turns t where t.user_id = \(caller.userID) and t.id = changed.turn_id limit 1) t
            ), page as (
                select k.* from counter, bound, lateral (
                    select p.change, 0 as kind, p.user_id as id from public.context_profiles p where p.user_id = \(caller.userID)
                    union all
                    select c.change, 1, c.id from public.conversations c where c.user_id = \(caller.userID)
                    union all
                    select m.change, 2, m.id from candidate cross join lateral (
                        select greatest(m.change, t.change) as change, m.id, m.conversation_id from public.messages m
                        left join public.turns t on t.user_id = m.user_id and t.id = m.turn_id
                        where m.user_id = \(caller.userID) and m.id = candidate.id limit 1) m
                    cross join lateral (
                        select from public.conversations c
                        where c.user_id = \(caller.userID) and c.id = m.conversation_id and c.deleted_at is null limit 1) c
                    union all
                    select r.change, 3, r.persona_id from public.persona_redemptions r where r.user_id = \(caller.userID)) k
                where counter.last_change > \(seen)::bigint and (k.change, k.id) > (\(number)::bigint, \(row))
                    and k.change <= bound.change
                order by k.change, k.id limit \(limit + 1))
            select \(ChangeCounter.columns), bound.change, page.change, page.id, page.kind, p.*, c.*, m.*, r.* from counter
            cross join bound
            left join page on true
            left join lateral (
                select \(ContextProfileVersion.currentColumns) from public.context_profiles p where p.user_id = \(caller.userID)) p
                on page.kind = 0
            left join lateral (
                select \(ConversationRecord.columns) from public.conversations where user_id = \(caller.userID) and id = page.id) c
                on page.kind = 1
            left join lateral (
                select m.conversation_id, \(MessageRecord.columns) from public.messages m
                left join public.turns t on t.user_id = m.user_id and t.id = m.turn_id
                where m.user_id = \(caller.userID) and m.id = page.id) m on page.kind = 2
            left join lateral (
                select \(PublishedPersona.columns) from public.published_personas where id = page.id limit 1) r
                on page.kind = 3
            order by page.change, page.id
            """
        let column = ChangeCounter.width
        let found = try await userRows(query, for: caller) { row in
            let counted = try CountedRow<KeyedChange>(row: row, at: column + 1) { try KeyedChange(row: $0, at: $1) }
            return (bound: try row.value(column, as: Int64.self), row: counted)
        }
        guard let counter = found.first?.row.counter, token.map(counter.accepts) ?? true else { return nil }
        let changed = found.compactMap(\.row.record)
        let page = changed.prefix(limit)
        let position =
            if changed.count > limit, let last = page.last {
                counter.position(resumeAt: (number: last.number, id: last.id))
            } else if let bound = found.first?.bound, bound < Int64.max {
                counter.position(through: bound)
            } else {
                counter.position(resumeAt: nil)
            }
        return SyncPage(items: page.map(\.change), position: position)
    }
}

/// A change with the key by which changes are ordered.
private struct KeyedChange: Sendable {
    let number: Int64
    let id: UUID
    let change: SyncChange

    /// Number, id and kind, then the columns of a profile, a conversation, a message and a persona, of which those of the kind are there.
    init(row: borrowing Row, at first: Int) throws {
        number = try row.value(first)
        id = try row.value(first + 1)
        let profile = first + 3
        let conversation = profile + ContextProfileVersion.width
        let message = conversation + ConversationRecord.width
        switch try row.value(first + 2, as: Int.self) {
        case 0: change = .profile(try ContextProfileVersion(row: row, at: profile))
        case 1: change = .conversation(try ConversationRecord(row: row, at: conversation))
        case 2: change = .message(try MessageRecord(row: row, at: message + 1), in: ConversationID(try row.value(message)))
        default:
            let persona = message + 1 + MessageRecord.width
            change =
                try row.value(persona, as: UUID?.self) == nil
                ? .personaRemoved(PersonaID(id)) : .persona(try PublishedPersona(row: row, at: persona))
        }
    }
}
