import CoachCore
import PostgresClient

/// The statement that reads a page of a user's changes.
enum SyncStatement {
    /// Of each row the counter's columns (`ChangeCounter.columns`), the number up to which all changes were read, and a change as `KeyedChange` reads
    /// it; nulls for a page without changes.
    static func changes(of caller: Caller, after token: ChangeToken?, limit: Int) -> Query {
        let (number, row) = (token?.number ?? -1, token?.lastRow ?? ChangeToken.greatestRow)
        // Compared with the counter before any row is read, because most requests find nothing new.
        let seen = token.map { $0.row == nil ? $0.number : $0.number - 1 } ?? -1
        // Selects keys first, so that only the rows of the page are read completely. Messages come by the index of messages by change, up to a
        // bound, above which nothing is read. A message includes the domain of its turn, so it also changes with the turn, and every change of
        // a turn comes with one of its answer or of its user's message (write_answer): so the messages of a page have at most two changes each,
        // and the user's message of each turn that changed is added. Lateral look-ups keep the planner from reading all of the user's messages, and
        // with `limit 1` it makes none for a row of another kind. Rows of one transaction have the same number and are ordered by id, also across
        // tables.
        return """
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
    }
}
