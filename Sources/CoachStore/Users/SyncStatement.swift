import CoachCore
import PostgresClient

/// The statement that reads a page of a user's changes.
enum SyncStatement {
    /// The first row has the counter's columns (`ChangeCounter.columns`), the number up to which all changes were read, and that of the last change of
    /// any persona. Each other row has NULL in these columns, followed by a change as `KeyedChange` reads it.
    static func changes(of caller: Caller, after token: ChangeToken?, limit: Int) -> Query {
        let (number, row) = (token?.number ?? -1, token?.lastRow ?? ChangeToken.greatestRow)
        let seen = token.map { $0.row == nil ? $0.number : $0.number - 1 } ?? -1
        // `limit 1` keeps the planner from looking up rows of another kind. Messages need no look-up.
        return """
            select \(ChangeCounter.columns(for: caller)), counter.complete_through, counter.last_persona_change, counter.change, counter.id, counter.kind,
                \(MessageRecord.columns), other.*
            from \(Claims.bound(for: caller))
            cross join lateral gateway.changed_rows(bound.user_id, \(number)::bigint, \(row)::uuid, \(seen)::bigint, \(limit)::integer) as counter
            cross join lateral (select (counter.message).*) m
            cross join lateral (select counter.domain) t
            left join lateral (select p.*, c.*, r.* from (select) one
            left join lateral (
                select \(ContextProfileVersion.currentColumns) from public.context_profiles p
                where counter.kind = 0 and p.user_id = \(caller.userID) limit 1) p on true
            left join lateral (
                select \(ConversationRecord.columns) from public.conversations
                where counter.kind = 1 and user_id = \(caller.userID) and id = counter.id limit 1) c on true
            left join lateral (
                select \(PublishedPersona.columns) from public.published_personas where counter.kind = 3 and id = counter.id limit 1) r on true
            where counter.kind <> 2 limit 1) other on true
            order by counter.change nulls first, counter.id
            """
    }
}
