import CoachCore
import PostgresClient

/// The statement that reads a page of a user's changes.
enum SyncStatement {
    /// Of each row the counter's columns (`ChangeCounter.columns`), the number up to which all changes were read, that of the last change of any
    /// persona, and a change as `KeyedChange` reads it; nulls for a page without changes. To be run as role `coach_gateway`.
    static func changes(of caller: Caller, after token: ChangeToken?, limit: Int) -> Query {
        let (number, row) = (token?.number ?? -1, token?.lastRow ?? ChangeToken.greatestRow)
        let seen = token.map { $0.row == nil ? $0.number : $0.number - 1 } ?? -1
        // With `limit 1` a look-up is made for no row of another kind.
        return """
            select \(ChangeCounter.columns), counter.complete_through, counter.last_persona_change, counter.change, counter.id, counter.kind, p.*, c.*, m.*, r.*
            from gateway.changed_rows(\(caller.userID), \(number)::bigint, \(row)::uuid, \(seen)::bigint, \(limit)::integer) as counter
            left join lateral (
                select \(ContextProfileVersion.currentColumns) from public.context_profiles p
                where counter.kind = 0 and p.user_id = \(caller.userID) limit 1) p on true
            left join lateral (
                select \(ConversationRecord.columns) from public.conversations
                where counter.kind = 1 and user_id = \(caller.userID) and id = counter.id limit 1) c on true
            left join lateral (
                select m.conversation_id, \(MessageRecord.columns) from public.messages m cross join (select counter.domain) t
                where counter.kind = 2 and m.user_id = \(caller.userID) and m.id = counter.id limit 1) m on true
            left join lateral (
                select \(PublishedPersona.columns) from public.published_personas where counter.kind = 3 and id = counter.id limit 1) r on true
            order by counter.change, counter.id
            """
    }
}
