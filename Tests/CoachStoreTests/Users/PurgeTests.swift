import CoachCore
import CoachStore
import PostgresClient
import Testing

@Suite("Content of deleted conversations")
struct PurgeTests {
    @Test("is removed with its turns after its time; the conversation's row and the ledger stay, others are not affected")
    func purge() async throws {
        let store = try await StoreFixture()
        let (caller, turns) = (Caller.someone(), store.turns())
        let (old, recent, kept) = (
            try await turns.talk(caller, "Old"), try await turns.talk(caller, "Recent"), try await turns.talk(caller, "Kept")
        )
        let running = try await turns.begin(caller, TurnRequest(message: "Running"), risk: .calm).begun.identity
        for identity in [old, recent, running] { _ = try await store.conversations.delete(caller, identity.conversationID, nil) }
        try await store.admin.execute(
            """
            update public.conversations set deleted_at = deleted_at - interval '31 days'
            where id = any (\([old, running].map(\.conversationID.uuid)))
            """)
        let housekeeping = Housekeeping.postgres(client: store.gateway, daysKept: 30)
        #expect(try await housekeeping.purge() == 1)
        #expect(try await housekeeping.purge() == 0)

        let left: Query = "select string_agg(content, ',' order by content) from public.messages where role = 'user'"
        #expect(try await store.value(left) == "Kept,Recent,Running")
        #expect(try await store.count("select count(*) from public.turns where id = \(old.turnID.uuid)") == 0)
        #expect(try await store.count("select count(*) from public.model_calls where turn_id = \(old.turnID.uuid)") == 1)
        #expect(
            try await store.value(
                "select title is null and purged_at is not null from public.conversations where id = \(old.conversationID.uuid)") == "t")
        _ = kept

        // The conversation's running turn is billed first.
        try await turns.finish(.complete(running, of: caller))
        #expect(try await housekeeping.purge() == 1)
        #expect(try await store.count("select count(*) from public.model_calls where turn_id = \(running.turnID.uuid)") == 1)
    }

    @Test("of an ephemeral conversation is removed a day after its last message, and synchronizing clients get the change")
    func ephemeral() async throws {
        let store = try await StoreFixture()
        let caller = Caller.someone()
        _ = try await store.requests().take(caller)
        let made = try await store.conversations.create(caller, ConversationDraft(isEphemeral: true))
        #expect(made.isEphemeral)
        try await store.turns().talk(caller, "Between us", in: made.id)
        let other = try await store.turns().talk(caller, "To be kept").conversationID
        let sync = SyncRepository.postgres(client: store.gateway)
        let before = try await sync.changes(caller, nil, 100).position.next
        let housekeeping = Housekeeping.postgres(client: store.gateway, daysKept: 30)
        #expect(try await housekeeping.purge() == 0)
        try await store.admin.execute(
            "update public.conversations set last_message_at = now() - interval '25 hours' where user_id = \(caller.userID.uuid)")
        #expect(try await housekeeping.purge() == 1)
        #expect(try await store.count("select count(*) from public.messages where content = 'Between us'") == 0)
        #expect(try await store.count("select count(*) from public.turns where conversation_id = \(made.id.uuid)") == 0)
        #expect(try await store.conversations.list(caller, limit: 10).items.map(\.id) == [other])
        let changes = try await sync.changes(caller, before, 100).items
        guard case .conversation(let tombstone)? = changes.first, changes.count == 1 else { throw StoreFault.unexpected("\(changes)") }
        #expect(tombstone.id == made.id && tombstone.deletedAt != nil && tombstone.title == nil)
    }

    @Test("of a large conversation is removed in small statements; it is purged when nothing of it is left, and others with it")
    func large() async throws {
        let store = try await StoreFixture()
        let (caller, turns) = (Caller.someone(), store.turns())
        let (large, small) = (try await turns.talk(caller, "Large"), try await turns.talk(caller, "Small"))
        try await store.admin.execute(
            """
            insert into public.messages (user_id, conversation_id, seq, role, content, token_count)
            select user_id, id, n, 'user', 'x', 1 from public.conversations, generate_series(3, 2000) n
            where id = \(large.conversationID.uuid)
            """)
        try await store.admin.execute(
            """
            update public.conversations
            set deleted_at = now() - case when id = \(large.conversationID.uuid) then interval '32 days' else interval '31 days' end
            """)
        let part: Query = "select removed from gateway.purge_content(interval '30 days', 300)"
        let purged: Query = "select count(*) from public.conversations where purged_at is not null"
        #expect(try await store.gateway.query(part) { rows in try rows.only { row in try row.value(0, as: Int.self) } } == 300)
        #expect(try await store.count("select count(*) from public.messages") == 1_702)
        #expect(try await store.count(purged) == 0)

        #expect(try await Housekeeping.postgres(client: store.gateway, daysKept: 30, rowsAtOnce: 300).purge() == 2)
        #expect(try await store.count(purged) == 2)
        for table in ["messages", "turns"] {
            #expect(try await store.count(Query(unsafeSQL: "select count(*) from public.\(table)")) == 0, "\(table)")
        }
        #expect(try await store.count("select count(*) from public.model_calls where turn_id = \(small.turnID.uuid)") == 1)
    }

    @Test("of an ephemeral conversation is closed to new turns before all of it is removed")
    func partOfEphemeral() async throws {
        let store = try await StoreFixture()
        let (caller, turns) = (Caller.someone(), store.turns())
        _ = try await store.requests().take(caller)
        let made = try await store.conversations.create(caller, ConversationDraft(isEphemeral: true))
        try await turns.talk(caller, "Between us", in: made.id)
        try await store.admin.execute("update public.conversations set last_message_at = now() - interval '25 hours'")
        let part: Query = "select removed from gateway.purge_content(interval '30 days', 1)"
        #expect(try await store.gateway.query(part) { rows in try rows.only { row in try row.value(0, as: Int.self) } } == 1)
        let next = TurnRequest(message: "On", conversationID: made.id)
        #expect(try await turns.begin(caller, next, risk: .calm).rejection.reason == .notFound)
        #expect(try await Housekeeping.postgres(client: store.gateway, daysKept: 30).purge() == 1)
        #expect(try await store.count("select count(*) from public.messages") == 0)
    }

    @Test("of a user with many turns is removed without reading these for each conversation")
    func manyTurns() async throws {
        let store = try await StoreFixture()
        let caller = Caller.someone()
        let kept = try await store.turns().talk(caller, "Kept").conversationID
        try await store.admin.execute(
            """
            insert into public.turns (user_id, conversation_id, user_message_id, seq, status, request_hash, conversation_named, tier, day)
            select \(caller.userID.uuid), \(kept.uuid), gen_random_uuid(), 2 + n, 'complete', '', false, 'free', current_date
            from generate_series(1, 5000) n
            """)
        try await store.admin.execute(
            """
            insert into public.conversations (user_id, title, last_seq, deleted_at)
            select \(caller.userID.uuid), 'Old', 2, now() - interval '31 days' from generate_series(1, 200)
            """)
        // The turns once, not 20 times.
        let pages = try await store.pages(of: "gateway.purge_content(interval '30 days', 1000)")
        #expect(pages < 2_000, "\(pages)")
        #expect(try await store.count("select count(*) from public.conversations where purged_at is not null") >= 20)
        #expect(try await store.count("select count(*) from public.turns") == 5_001)
    }

    @Test("cannot be removed by a statement that is bound to a user")
    func bound() async throws {
        let store = try await StoreFixture.shared()
        await #expect(throws: PostgresError.self) {
            try await store.gateway.batch([
                "select set_config('request.jwt.claims', \(Caller.someone().claims), true)",
                "select gateway.purge_content(interval '0', 1)",
            ]) { _ in }
        }
    }
}
