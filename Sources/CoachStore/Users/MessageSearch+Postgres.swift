import CoachCore
import PostgresClient

extension MessageSearch {
    /// How many messages a search indexes before it runs, of those that wait longest, so that the first search of most users finds everything, and
    /// of the newest if there are more; a job indexes the rest. Of each no more than `MessageIndexer.bytesAtOnce`.
    fileprivate static let (longestWaiting, newest) = (200, 25)

    /// Full-text search in PostgreSQL. The search enqueues the job that indexes the user's messages, so that those of users who never search are
    /// not indexed.
    public static func postgres(client: PostgresClient) -> MessageSearch {
        MessageSearch { caller, text, request in
            let isBehind = try await client.index(caller)
            if isBehind { let _: String? = try await client.call("gateway.request_indexing(\(caller.userID))", for: caller) }
            return try await client.search(text, of: caller, request)
        }
    }
}

extension PostgresClient {
    /// Indexes what a search does not leave to the job. Returns whether messages are left, also when another search or the job kept the lock on the
    /// user's index: the search then finds what is indexed.
    fileprivate func index(_ caller: Caller) async throws -> Bool {
        let (longestWaiting, newest) = (MessageSearch.longestWaiting, MessageSearch.newest)
        let bytes = MessageIndexer.bytesAtOnce
        do {
            return try await call(
                "gateway.index_messages_3(\(caller.userID), \(longestWaiting)::integer, \(bytes)::integer, \(newest)::integer)",
                for: caller,
                except: SQLState.contention)
        } catch is PostgresError {
            return true
        }
    }

    fileprivate func search(_ text: String, of caller: Caller, _ request: PageRequest) async throws -> Page<ConversationMessage> {
        // The query is parsed in a subquery, once: as a part of the condition it is parsed again for each message. Messages are looked up when their words
        // match, and turns when the page is known.
        var page: Query = """
            select m.*, c.source from found f
            cross join lateral (select * from public.messages where user_id = \(caller.userID) and id = f.message_id limit 1) m
            join public.conversations c on c.user_id = m.user_id and c.id = m.conversation_id and c.deleted_at is null
                and c.source <> 'preview'
            where m.status <> 'superseded'
            """
        if let cursor = try request.pageCursor {
            page.append(" and (m.created_at, m.id) < (\(try cursor.timestamp), \(cursor.id))")
        }
        page.append(" order by m.created_at desc, m.id desc limit \(request.limit + 1)")
        let query: Query = """
            with found as materialized (
                select w.message_id from public.message_words w
                where w.user_id = \(caller.userID) and w.words @@ (select websearch_to_tsquery(
                    gateway.search_language((select u.locale from public.users u where u.id = \(caller.userID)))::regconfig,
                    gateway.searchable_query(\(text))))
            ), page as materialized (\(page))
            select m.source, \(MessageRecord.columns) from page m
            left join lateral (select domain from public.turns where user_id = m.user_id and id = m.turn_id limit 1) t on true
            order by m.created_at desc, m.id desc
            """
        let found = try await gatewayRows(query, for: caller) { try ConversationMessage(row: $0) }
        return Page(found, limit: request.limit) { PageCursor(key: $0.message.createdAt.microseconds, id: $0.message.id.uuid) }
    }
}
