import CoachCore
import Foundation
import PostgresClient

extension ConversationRepository {
    /// Conversations in PostgreSQL. Every statement runs as role `authenticated` with the caller's claims, so that row-level security
    /// limits it to the caller's rows, as with PostgREST.
    public static func postgres(client: PostgresClient) -> ConversationRepository {
        ConversationRepository(
            list: { caller, source, request in
                let rows: Query = """
                    public.conversations r where r.user_id = \(caller.userID) and r.source = \(source.rawValue)::public.conversation_source
                    """
                if let token = try await client.changeToken(request, of: caller, in: rows) {
                    let page = try await client.conversations(from: source, of: caller, changedAfter: token, limit: request.limit)
                    if let page { return page }
                }
                return try await client.conversations(from: source, of: caller, request)
            },
            get: { caller, id in try await client.conversation(id, of: caller) },
            create: { caller, draft in try await client.createConversation(draft, of: caller) },
            patch: { caller, id, patch in try await client.patchConversation(id, patch, of: caller) },
            delete: { caller, id, versions in try await client.deleteConversation(id, of: caller, expecting: versions) },
            messages: { caller, id, order, request in
                let rows: Query = "public.messages r where r.user_id = \(caller.userID) and r.conversation_id = \(id)"
                if let token = try await client.changeToken(request, of: caller, in: rows) {
                    if let page = try await client.messages(in: id, of: caller, changedAfter: token, limit: request.limit) { return page }
                }
                return try await client.messages(in: id, of: caller, order, request)
            })
    }
}

extension PostgresClient {
    // MARK: Lists

    /// The position that the request names; nil for the whole list. Of a time it is that before the first of the rows `r` that was updated since.
    /// Throws `InvalidChangeToken`.
    fileprivate func changeToken(_ request: PageRequest, of caller: Caller, in rows: Query) async throws -> ChangeToken? {
        if let text = request.updatedSince { return try ChangeToken(text: text) }
        guard let milliseconds = request.updatedFrom.map({ Int64(($0.timeIntervalSince1970 * 1000).rounded()) }) else { return nil }
        let query: Query = """
            select \(ChangeCounter.epoch(for: caller)), counter.removed_through, coalesce(
                (
                    select min(r.change) - 1 from \(rows)
                    and r.updated_at >= timestamptz 'epoch' + \(milliseconds)::bigint * interval '1 millisecond'
                ), counter.last_change)
            from (\(ChangeCounter.query(for: caller))) counter
            """
        return try await userRows(query, for: caller) {
            // What was removed without a trace, no list of changes from a time can have.
            ChangeToken(epoch: try $0.value(0), number: max(try $0.value(2), 0), removed: try $0.value(1))
        }.first
    }

    fileprivate func conversations(
        from source: ConversationSource, of caller: Caller, _ request: PageRequest
    ) async throws -> Page<ConversationRecord> {
        var page: Query = """
            select * from public.conversations
            where user_id = \(caller.userID) and deleted_at is null and source = \(source.rawValue)::public.conversation_source
            """
        if let cursor = try request.pageCursor {
            page.append(" and (last_message_at, id) < (\(try cursor.timestamp), \(cursor.id))")
        }
        page.append(" order by last_message_at desc, id desc limit \(request.limit + 1)")
        let query: Query = """
            select \(ChangeCounter.columns(for: caller)), \(ConversationRecord.columns) from (\(ChangeCounter.query(for: caller))) counter
            left join lateral (\(page)) c on true order by c.last_message_at desc, c.id desc
            """
        let found = try await userRows(query, for: caller) {
            try CountedRow<ConversationRecord>(row: $0) { try ConversationRecord(row: $0, at: $1) }
        }
        return Page(found.compactMap(\.record), limit: request.limit) { PageCursor(key: $0.lastMessageAt.microseconds, id: $0.id.uuid) }
            .with(request.cursor == nil ? found.first?.counter.start : nil, isReset: request.updatedSince != nil)
    }

    /// Nil when the token is no longer valid.
    fileprivate func conversations(
        from source: ConversationSource, of caller: Caller, changedAfter token: ChangeToken, limit: Int
    ) async throws -> Page<ConversationRecord>? {
        let query: Query = """
            select \(ChangeCounter.columns(for: caller)), c.change, \(ConversationRecord.columns) from (\(ChangeCounter.query(for: caller))) counter
            left join lateral (
                select * from public.conversations
                where user_id = \(caller.userID) and (change, id) > (\(token.number), \(token.lastRow))
                    and source = \(source.rawValue)::public.conversation_source
                order by change, id limit \(limit + 1)
            ) c on true order by c.change, c.id
            """
        let found = try await userRows(query, for: caller) {
            try CountedRow<ChangedRecord<ConversationRecord>>(row: $0) { row, column in
                ChangedRecord(number: try row.value(column), record: try ConversationRecord(row: row, at: column + 1))
            }
        }
        return Page(changes: found, after: token, limit: limit) { $0.id.uuid }
    }

    fileprivate func messages(
        in id: ConversationID, of caller: Caller, _ order: MessageOrder, _ request: PageRequest
    ) async throws -> Page<MessageRecord> {
        let (direction, behind, before): (Query, Query, Query) =
            order == .oldestFirst ? ("", ">", "'-infinity'") : (" desc", "<", "'infinity'")
        var page: Query = "select * from public.messages m where m.user_id = c.user_id and m.conversation_id = c.id"
        if let cursor = try request.pageCursor {
            guard Int32(exactly: cursor.key) != nil else { throw InvalidCursor() }
            // Of a message that is gone all answers to its question are read again.
            page.append(
                """
                 and m.seq \(behind)= \(cursor.key)::integer and (m.seq, m.created_at, m.id) \(behind) (\(cursor.key)::integer, coalesce((
                    select last.created_at from public.messages last
                    where last.user_id = \(caller.userID) and last.id = \(cursor.id)), \(before)), \(cursor.id))
                """)
        }
        // Answers of retries have the place of the first one, and come in the order of their turns. Read in the order of the index, with all of the last
        // place: to sort by more columns, all messages of the conversation would be read.
        page.append(" order by m.seq\(direction) fetch first (\(request.limit + 1)) rows with ties")
        // The result is one row of NULLs for a conversation without messages, and empty when the conversation does not exist.
        let query: Query = """
            select \(ChangeCounter.columns(for: caller)), \(MessageRecord.columns) from (\(ChangeCounter.query(for: caller))) counter
            cross join public.conversations c
            left join lateral (
                select * from (\(page)) found
                order by found.seq\(direction), found.created_at\(direction), found.id\(direction) limit \(request.limit + 1)) m on true
            left join lateral (\(Self.turnOfMessage)) t on true
            where c.user_id = \(caller.userID) and c.id = \(id) and c.deleted_at is null
            order by m.seq\(direction), m.created_at\(direction), m.id\(direction)
            """
        let found = try await userRows(query, for: caller) { try CountedRow<MessageRecord>(row: $0) { try MessageRecord(row: $0, at: $1) } }
        let counter = try found.first.orNotFound().counter
        return Page(found.compactMap(\.record), limit: request.limit) { PageCursor(key: Int64($0.position), id: $0.id.uuid) }
            .with(request.cursor == nil ? counter.start : nil, isReset: request.updatedSince != nil)
    }

    /// Nil when the token is no longer valid. A message includes the domain of its turn, so it also changes when the turn changes.
    fileprivate func messages(
        in id: ConversationID, of caller: Caller, changedAfter token: ChangeToken, limit: Int
    ) async throws -> Page<MessageRecord>? {
        let seen = token.row == nil ? token.number : token.number - 1
        // Of the user's changes and the conversation's messages the fewer are read: a client that asks often has missed few changes, one that
        // was away for long may have missed those of many conversations. The changes come by their index, which no other condition may
        // replace (offset 0), with the user's message of each turn as in `SyncRepository`.
        let query: Query = """
            with counter as (\(ChangeCounter.query(for: caller)))
            select \(ChangeCounter.columns(for: caller)), page.change, \(MessageRecord.columns) from counter
            cross join public.conversations c
            left join lateral (
                select k.change, k.id from (
                    select greatest(m.change, t.change) as change, m.id from public.messages m
                    left join lateral (
                        select t.change from public.turns t where t.user_id = m.user_id and t.id = m.turn_id limit 1) t on true
                    where m.user_id = c.user_id and m.conversation_id = c.id and counter.last_change - \(seen)::bigint >= c.last_seq
                    union all
                    select greatest(m.change, t.change), m.id from (
                        select distinct unnest(array[m.id, t.user_message_id]) as id from (
                            select m.id, m.turn_id, m.conversation_id from public.messages m
                            where m.user_id = \(caller.userID) and m.change > \(seen)::bigint order by m.change offset 0) m
                        left join lateral (
                            select t.user_message_id from public.turns t where t.user_id = c.user_id and t.id = m.turn_id limit 1) t on true
                        where m.conversation_id = c.id and counter.last_change - \(seen)::bigint < c.last_seq) candidate
                    cross join lateral (
                        select m.id, m.change, m.turn_id from public.messages m
                        where m.user_id = c.user_id and m.id = candidate.id limit 1) m
                    left join lateral (
                        select t.change from public.turns t where t.user_id = c.user_id and t.id = m.turn_id limit 1) t on true) k
                where (k.change, k.id) > (\(token.number), \(token.lastRow))
                order by k.change, k.id limit \(limit + 1)) page on true
            left join lateral (select * from public.messages where user_id = c.user_id and id = page.id limit 1) m on true
            left join lateral (\(Self.turnOfMessage)) t on true
            where c.user_id = \(caller.userID) and c.id = \(id) and c.deleted_at is null
            order by page.change, page.id
            """
        // Planning takes 1 ms, the statement 0.1 ms.
        let found = try await userRows(Claims.plannedOnce, query, for: caller) {
            try CountedRow<ChangedRecord<MessageRecord>>(row: $0) { row, column in
                ChangedRecord(number: try row.value(column), record: try MessageRecord(row: row, at: column + 1))
            }
        }
        guard !found.isEmpty else { throw Rejection(reason: .notFound) }
        return Page(changes: found, after: token, limit: limit) { $0.id.uuid }
    }

    /// The turn of message `m`. With a limit, because all of the user's turns are otherwise read to be joined with a page.
    private static let turnOfMessage: Query = "select domain from public.turns where user_id = m.user_id and id = m.turn_id limit 1"

    // MARK: One conversation

    fileprivate func conversation(_ id: ConversationID, of caller: Caller) async throws -> ConversationRecord {
        try await record(
            """
            select \(ConversationRecord.columns) from public.conversations
            where user_id = \(caller.userID) and id = \(id) and deleted_at is null
            """, for: caller)
    }

    /// The caller's row must exist: `RequestCounter.take` creates it.
    fileprivate func createConversation(_ draft: ConversationDraft, of caller: Caller) async throws -> ConversationRecord {
        do {
            let found = try await userRows(
                """
                with made as (
                    insert into public.conversations (user_id, id, title, domain, persona_id, ephemeral)
                    values (\(caller.userID), \(draft.id), \(draft.title), \(draft.domain), \(draft.personaID), \(draft.isEphemeral))
                    on conflict on constraint conversations_pkey do nothing returning *
                )
                select \(ConversationRecord.columns) from made
                union all
                select \(ConversationRecord.columns) from public.conversations
                where user_id = \(caller.userID) and id = \(draft.id) and deleted_at is null
                """, for: caller
            ) { try ConversationRecord(row: $0, at: 0) }
            if let record = found.first { return record }
            // One that another request has made since this statement began, which waited for it and does not see it; or a deleted one.
            return try await conversation(draft.id, of: caller)
        } catch let error as PostgresError where error.sqlState == SQLState.insufficientPrivilege && draft.personaID != nil {
            // The policy rejects a persona that the caller may not see.
            throw Rejection(reason: .unknownPersona)
        } catch let error as PostgresError where error.constraint == "conversations_quota" {
            throw Rejection(reason: .tooManyItems)
        }
    }

    fileprivate func patchConversation(
        _ id: ConversationID, _ patch: ConversationPatch, of caller: Caller
    ) async throws -> ConversationRecord {
        let assignments = Query.assignments([patch.title.map { "title = \($0)" }, patch.domain.map { "domain = \($0)" }])
        guard let assignments else {
            let record = try await conversation(id, of: caller)
            if let expected = patch.expectedVersions, !expected.contains(record.version) { throw StaleVersion() }
            return record
        }
        var update: Query = """
            update public.conversations set \(assignments) where user_id = \(caller.userID) and id = \(id) and deleted_at is null
            """
        if let expected = patch.expectedVersions { update.append(" and change = any (\(expected))") }
        update.append(" returning \(ConversationRecord.columns)")
        do {
            return try await record(update, for: caller)
        } catch let rejection as Rejection where patch.expectedVersions != nil {
            // Throws `notFound` if the conversation does not exist; otherwise it has another version.
            guard rejection.reason == .notFound else { throw rejection }
            _ = try await conversation(id, of: caller)
            throw StaleVersion()
        }
    }

    /// Soft-deletes the conversation, because the ledger refers to its rows, and returns the running turn of its latest message, which the caller can stop
    /// sooner than its owner sees the request.
    /// Throws `Rejection` `notFound`, also when it was deleted before.
    fileprivate func deleteConversation(_ id: ConversationID, of caller: Caller, expecting versions: [Int64]?) async throws -> TurnID? {
        var update: Query = """
            update public.conversations set deleted_at = now()
            where user_id = \(caller.userID) and id = \(id) and deleted_at is null
            """
        if let versions { update.append(" and change = any (\(versions))") }
        // A separate statement, with a new snapshot, so that it sees a turn for whose `begin_turn` the update waited. now() is the
        // transaction's time. A running turn is nearly always that of the latest message; the database requests the stop of any.
        let query: Query = """
            select (
                select t.id from public.messages m
                join public.turns t on t.user_id = m.user_id and t.id = m.turn_id and t.status = 'running'
                where m.user_id = c.user_id and m.conversation_id = c.id and m.seq = c.last_seq - 1)
            from public.conversations c
            where c.user_id = \(caller.userID) and c.id = \(id) and c.deleted_at = now()
            """
        let found = try await userRows(update, query, for: caller) { try $0.value(0, as: UUID?.self) }
        guard let running = found.first else {
            // Throws `notFound` if the conversation does not exist; otherwise it has another version.
            if versions != nil { _ = try await conversation(id, of: caller) }
            throw versions == nil ? Rejection(reason: .notFound) : StaleVersion() as any Error
        }
        return running.map { TurnID($0) }
    }

    // MARK: Statements

    private func record(_ query: Query, for caller: Caller) async throws -> ConversationRecord {
        try await userRows(query, for: caller) { try ConversationRecord(row: $0, at: 0) }.first.orNotFound()
    }
}
