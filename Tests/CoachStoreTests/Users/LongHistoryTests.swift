import CoachCore
import CoachStore
import PostgresClient
import Testing

@Suite("Users with a long history")
struct LongHistoryTests {
    /// Rows of turns and messages that the server has read so far, for each shared connection. Nobody else reads in the database.
    private func rowsRead(_ store: StoreFixture) async throws -> Int {
        for connection in 0..<2 {
            try await store.gateway.query("select pg_stat_force_next_flush()", affinity: UInt64(connection)) { _ in }
        }
        try await store.admin.execute("select pg_stat_force_next_flush()")
        return try await store.count(
            """
            select sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::bigint from pg_stat_user_tables
            where relname in ('turns', 'messages')
            """)
    }

    @Test("a page of a conversation does not read the turns and messages of others")
    func pages() async throws {
        let store = try await StoreFixture()
        let (caller, conversations) = (Caller.someone(), store.conversations)
        let id = try await store.turns().talk(caller, "q", answer: "a").conversationID
        try await store.turns().talk(caller, "r", in: id, answer: "b")
        // Of 200 conversations, because plans that are made for any conversation read one of two best by reading all.
        try await store.admin.execute(
            """
            insert into public.conversations (user_id, title, last_seq)
            select \(caller.userID.uuid), 'other', 200 from generate_series(1, 200)
            """)
        try await store.admin.execute(
            """
            insert into public.turns (user_id, conversation_id, user_message_id, seq, status, request_hash, conversation_named, tier, day)
            select c.user_id, c.id, gen_random_uuid(), n, 'complete', '', false, 'free', current_date
            from public.conversations c, generate_series(1, 200) n where c.title = 'other'
            """)
        try await store.admin.execute(
            """
            insert into public.messages (user_id, conversation_id, seq, role, content, token_count, change)
            select c.user_id, c.id, n, 'user', 'x', 1, 1 from public.conversations c, generate_series(1, 200) n where c.title = 'other'
            """)
        try await store.admin.execute("analyze")
        // A first reading reports what other connections have read before.
        let token = try #require(try await conversations.messages(caller, id, limit: 20).position?.next)
        try await store.turns().talk(caller, "s", in: id, answer: "c")
        let pages: [(MessageOrder, PageRequest, Set<String>)] = [
            (.oldestFirst, PageRequest(limit: 20), ["q", "a", "r", "b", "s", "c"]),
            (.newestFirst, PageRequest(limit: 3), ["b", "s", "c"]),
            // Of all messages of the conversation, and of the user's changes alone.
            (.oldestFirst, PageRequest(limit: 20, updatedSince: token.prefix(37) + "0"), ["q", "a", "r", "b", "s", "c"]),
            (.oldestFirst, PageRequest(limit: 20, updatedSince: token), ["s", "c"]),
        ]
        for (order, request, contents) in pages {
            let before = try await rowsRead(store)
            #expect(Set(try await conversations.messages(caller, id, order, request).items.map(\.content)) == contents)
            // Joined with all of the user's turns or messages, it would read 40,000.
            let read = try await rowsRead(store) - before
            #expect((1..<10_000).contains(read), "\(read)")
        }
    }

    @Test("a page ends between answers that have one place, and the next one goes on behind it", arguments: MessageOrder.allCases)
    func places(order: MessageOrder) async throws {
        let store = try await StoreFixture.shared()
        let caller = Caller.someone()
        let id = try await store.turns().talk(caller, "q", answer: "a").conversationID
        try await store.admin.execute(
            """
            insert into public.messages (user_id, conversation_id, seq, role, content, status, token_count, created_at)
            select \(caller.userID.uuid), \(id.uuid), 2, 'assistant', 'a' || n, 'superseded', 1, now() + n * interval '1 second'
            from generate_series(1, 5) n
            """)
        var (contents, cursor): ([String], String?) = ([], nil)
        repeat {
            let page = try await store.conversations.messages(caller, id, order, limit: 2, cursor: cursor)
            #expect(page.items.count <= 2)
            contents += page.items.map(\.content)
            cursor = page.nextCursor
        } while cursor != nil
        let oldestFirst = ["q", "a", "a1", "a2", "a3", "a4", "a5"]
        #expect(contents == (order == .oldestFirst ? oldestFirst : oldestFirst.reversed()))
    }

    @Test("a search makes the words of its query once, not for each message")
    func search() async throws {
        let store = try await StoreFixture()
        let (caller, search) = (Caller.someone(), MessageSearch.postgres(client: store.gateway))
        let id = try await store.turns().talk(caller, "hay", answer: "needle").conversationID
        try await store.admin.execute(
            """
            insert into public.messages (user_id, conversation_id, seq, role, content, token_count, change)
            select \(caller.userID.uuid), \(id.uuid), 2 + n, 'user', 'hay', 1, 1 from generate_series(1, 6000) n
            """)
        let indexer = MessageIndexer.postgres(client: store.gateway)
        while try await indexer.indexPart(caller.userID) {}
        // Parsing the query takes 30 μs. For each message that was 0.2 s; with 60,000 messages the whole time that a statement has.
        var shortest = Duration.seconds(60)
        for _ in 0..<10 {
            let start = ContinuousClock.now
            let items = try await search.search(caller, "needle", PageRequest(limit: 20)).items
            shortest = min(shortest, start.duration(to: .now))
            #expect(items.map(\.message.content) == ["needle"])
        }
        #expect(shortest < .milliseconds(80), "\(shortest)")
    }
}
