import CoachCore
import Foundation
import PostgresClient

extension SyncRepository {
    /// Changes in PostgreSQL, by the numbers that every writer takes under a lock: a reader that sees a number sees all rows with lower ones.
    public static func postgres(client: PostgresClient) -> SyncRepository {
        SyncRepository { caller, since, limit in
            var token = try since.map { try SyncToken(text: $0) }
            // Most requests find nothing new, which takes both statements: the user's connection sends them together. A token within a
            // transaction has more rows of the user before any persona.
            let place = token.flatMap { $0.own.row == nil ? $0 : nil }
            async let early = client.personaChanges(of: caller, after: place, limit: limit)
            var own = try await client.changes(of: caller, after: token?.own, limit: limit)
            if own == nil {
                token = nil
                own = try await client.changes(of: caller, after: nil, limit: limit)
            }
            guard var page = own else { throw StoreFault.unexpected("a synchronisation from the beginning is always valid") }
            var next = SyncToken(
                own: try ChangeToken(text: page.position.next), personas: token?.personas ?? -1, lastPersona: token?.lastPersona)
            if !page.position.hasMore {
                var personas = token == nil ? nil : try await early
                if personas == nil { personas = try await client.personaChanges(of: caller, after: next, limit: limit) }
                page.position.hasMore = personas?.fill(&page.items, limit: limit, moving: &next) ?? false
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
        // Selects keys first, so that only the rows of the page are read completely. Messages come by the index of messages by change, up to a
        // bound, above which nothing is read. A message includes the domain of its turn, so it also changes with the turn, and every change of
        // a turn comes with one of its answer or of its user's message (write_answer): so the messages of a page have at most two changes each,
        // and the user's message of each turn that changed is added. Lateral look-ups keep the planner from reading all of the user's messages, and
        // with `limit 1` it makes none for a row of another kind. Rows of one transaction have the same number and are ordered by id, also across
        // tables.
        let query: Query = """
            with counter as (\(ChangeCounter.query(for: caller))), changed as materialized (
                select m.id, m.conversation_id, m.turn_id, m.change from counter cross join lateral (
                    select m.id, m.conversation_id, m.turn_id, m.change from public.messages m
                    where m.user_id = \(caller.userID) and m.change > \(seen)::bigint
                    order by m.change fetch first \(2 * (limit + 1) + 1) rows with ties) m
                where counter.last_change > \(seen)::bigint
            ), bound as materialized (
                select case when count(*) > \(2 * (limit + 1)) then max(change) else 9223372036854775807 end as change from changed
            ), changed_turn as materialized (
                select t.id, t.change, t.user_message_id, t.domain from (select distinct turn_id from changed) k cross join lateral (
                    select t.id, t.change, t.user_message_id, t.domain from public.turns t
                    where t.user_id = \(caller.userID) and t.id = k.turn_id limit 1) t
            ), candidate as (
                select m.id, m.conversation_id, greatest(m.change, t.change) as change, t.domain
                from changed m left join changed_turn t on t.id = m.turn_id
                union all
                select m.id, m.conversation_id, greatest(m.change, t.change), t.domain from (
                    select t.user_message_id as id from changed_turn t where t.user_message_id not in (select id from changed)
                    group by 1) k cross join lateral (
                    select m.id, m.conversation_id, m.turn_id, m.change from public.messages m
                    where m.user_id = \(caller.userID) and m.id = k.id limit 1) m
                left join lateral (
                    select t.change, t.domain from public.turns t where t.user_id = \(caller.userID) and t.id = m.turn_id limit 1) t on true
            ), page as (
                select k.* from counter, bound, lateral (
                    select p.change, 0 as kind, p.user_id as id, null::public.coaching_domain as domain
                    from public.context_profiles p where p.user_id = \(caller.userID)
                    union all
                    select c.change, 1, c.id, null from public.conversations c where c.user_id = \(caller.userID)
                    union all
                    select m.change, 2, m.id, m.domain from candidate m where m.conversation_id in (
                        select c.id from (select distinct conversation_id as id from candidate) s cross join lateral (
                            select c.id from public.conversations c
                            where c.user_id = \(caller.userID) and c.id = s.id and c.deleted_at is null limit 1) c)
                    union all
                    select r.change, 3, r.persona_id, null from public.persona_redemptions r where r.user_id = \(caller.userID)) k
                where counter.last_change > \(seen)::bigint and (k.change, k.id) > (\(number)::bigint, \(row))
                    and k.change <= bound.change
                order by k.change, k.id limit \(limit + 1))
            select \(ChangeCounter.columns), bound.change, page.change, page.id, page.kind, p.*, c.*, m.*, r.* from counter
            cross join bound
            left join page on true
            left join lateral (
                select \(ContextProfileVersion.currentColumns) from public.context_profiles p
                where page.kind = 0 and p.user_id = \(caller.userID) limit 1) p on true
            left join lateral (
                select \(ConversationRecord.columns) from public.conversations
                where page.kind = 1 and user_id = \(caller.userID) and id = page.id limit 1) c on true
            left join lateral (
                select m.conversation_id, \(MessageRecord.columns) from public.messages m cross join (select page.domain) t
                where page.kind = 2 and m.user_id = \(caller.userID) and m.id = page.id limit 1) m on true
            left join lateral (
                select \(PublishedPersona.columns) from public.published_personas where page.kind = 3 and id = page.id limit 1) r on true
            order by page.change, page.id
            """
        let column = ChangeCounter.width
        // One plan for all requests of a connection. Left to itself PostgreSQL plans this statement for the values of each, which takes 3 ms, and
        // running it 0.9: it takes a `limit` that it does not know for a tenth of all rows.
        let planOnce: Query = "select set_config('plan_cache_mode', 'force_generic_plan', true)"
        let found = try await userRows(planOnce, query, for: caller) { row in
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
