import CoachCore
import CoachStore
import Foundation
import PostgresClient
import TestSupport
import Testing

/// A client that asks often reads what changed, not all that there is. Counted by PostgreSQL, in a database of its own.
@Suite("Reading changes by their indexes")
struct ChangePlanTests {
    private struct Reads: Equatable {
        var scans: Int
        var rows: Int
    }

    /// Scans of an index and the entries that they returned. Sessions report them within a second or when they are told to.
    private func reads(_ store: StoreFixture, _ index: String) async throws -> Reads {
        try await store.gateway.execute("select pg_stat_force_next_flush()")
        return try await store.admin.query(
            "select idx_scan, idx_tup_read from pg_stat_user_indexes where indexrelname = \(index)"
        ) { rows in try rows.only { row in Reads(scans: try row.value(0), rows: try row.value(1)) } }
    }

    @Test("a change in a conversation of 5,000 messages is found by the index of changes, and one among many changes elsewhere, too")
    func messages() async throws {
        let store = try await StoreFixture()
        let caller = Caller.someone()
        let long = try await store.turns().talk(caller, "Hello").conversationID
        try await store.admin.execute(
            """
            insert into public.messages (user_id, id, conversation_id, seq, role, content, token_count, change)
            select \(caller.userID.uuid), gen_random_uuid(), \(long.uuid), n, 'user', 'text', 1, 1 from generate_series(3, 5000) n
            """)
        try await store.admin.execute("update public.conversations set last_seq = 5000 where id = \(long.uuid)")
        try await store.admin.execute("analyze public.messages, public.conversations")
        let token = try #require(try await store.conversations.messages(caller, long, limit: 1).position?.next)
        let said = try await store.turns().talk(caller, "More", in: long)
        let before = try await reads(store, "idx_messages_conversation_id")
        let changes = try await reads(store, "idx_messages_change")
        let page = try await store.conversations.messages(caller, long, limit: 100, updatedSince: token)
        #expect(page.items.map(\.turnID) == [said.turnID, said.turnID])
        try await eventually { try await reads(store, "idx_messages_change").scans > changes.scans }
        // Of 5,000; a turn's own reads of its history may be reported late.
        #expect(try await reads(store, "idx_messages_conversation_id").rows - before.rows < 1_000)
        #expect(try await reads(store, "idx_messages_change").rows - changes.rows < 1_000)

        // Many changes elsewhere, few messages here: the conversation is read.
        let short = try await store.turns().talk(caller, "A short one").conversationID
        let start = try #require(try await store.conversations.messages(caller, short, limit: 1).position?.next)
        try await store.admin.execute(
            """
            update public.messages m set change = c.last_change + 2 from public.change_counters c
            where c.user_id = m.user_id and m.user_id = \(caller.userID.uuid) and m.conversation_id = \(long.uuid)
            """)
        try await store.admin.execute(
            "update public.change_counters set last_change = last_change + 100 where user_id = \(caller.userID.uuid)")
        try await store.turns().talk(caller, "And more", in: short)
        #expect(try await store.conversations.messages(caller, short, limit: 100, updatedSince: start).items.count == 2)
    }

    /// Behind a pooler a connection is not a server process, which reports when it is told to.
    private static let isPooled = ProcessInfo.processInfo.environment["COACH_TEST_POOLER"] == "1"

    /// Look-ups in the indexes of each table so far, those of every shared connection included.
    private func lookups(_ store: StoreFixture) async throws -> [String: Int] {
        for connection in 0..<2 {
            try await store.gateway.query("select pg_stat_force_next_flush()", affinity: UInt64(connection)) { _ in }
        }
        return try await store.admin.query(
            """
            select relname, sum(idx_scan)::bigint from pg_stat_user_indexes
            where relname in ('messages', 'turns', 'conversations', 'context_profiles', 'coaching_personas') group by relname
            """
        ) { rows in
            Dictionary(uniqueKeysWithValues: try rows.map { row in (try row.value(0, as: String.self), try row.value(1, as: Int.self)) })
        }
    }

    /// Adds 50 users with 200 messages each, so that no table is so small that reading all of it costs less than its index.
    private func addOthers(_ store: StoreFixture) async throws {
        for statement in [
            "insert into public.users (id) select gen_random_uuid() from generate_series(1, 50)",
            """
            insert into public.conversations (user_id, title, last_seq) select u.id, 'other', 40 from public.users u, generate_series(1, 5)
            where not exists (select from public.conversations c where c.user_id = u.id)
            """,
            """
            insert into public.turns (user_id, conversation_id, user_message_id, seq, status, request_hash, conversation_named, tier, day, change)
            select c.user_id, c.id, gen_random_uuid(), s, 'complete', '', true, 'free', current_date, s + 1
            from public.conversations c, generate_series(1, 39, 2) s where c.title = 'other'
            """,
            """
            insert into public.messages (user_id, id, conversation_id, turn_id, seq, role, content, token_count, change)
            select t.user_id, m.id, t.conversation_id, t.id, t.seq + m.part, 'user', 'text', 1, t.seq + m.part
            from public.turns t, lateral (values (0, t.user_message_id), (1, t.message_id)) m (part, id) where t.request_hash = ''
            """, "analyze",
        ] as [Query] { try await store.admin.execute(statement) }
    }

    @Test(
        "a page of a synchronisation looks up each message and each turn once, and one with nothing new none",
        .enabled(if: !isPooled))
    func synchronisation() async throws {
        let store = try await StoreFixture()
        let caller = Caller.someone()
        let conversation = try await store.turns().talk(caller, "Hello").conversationID
        for number in 0..<40 { try await store.turns().talk(caller, "\(number)", in: conversation) }
        for number in 0..<100 { _ = try await store.conversations.create(caller, title: "\(number)") }
        try await addOthers(store)
        let sync = SyncRepository.postgres(client: store.gateway)

        /// The page after a token, and the look-ups that it took.
        func page(after token: String?, limit: Int) async throws -> (page: SyncPage, taken: [String: Int]) {
            let before = try await lookups(store)
            let page = try await sync.changes(caller, token, limit)
            let after = try await lookups(store)
            return (page, after.merging(before) { $0 - $1 })
        }

        // A page of 20 reads the changes of 43 messages, in 22 turns, and then 20 messages completely, and one that is not sent.
        let (first, taken) = try await page(after: nil, limit: 20)
        #expect(first.items.count == 20 && first.position.hasMore)
        #expect(taken["messages", default: 0] <= 1 + 21 && taken["turns", default: 0] <= 22, "\(taken)")
        #expect(taken["conversations", default: 0] <= 3, "\(taken)")
        #expect(taken["messages", default: 0] > 0)

        var token = first.position
        while token.hasMore { token = try await sync.changes(caller, token.next, 100).position }
        let quiet = try await page(after: token.next, limit: 20)
        #expect(quiet.page.items.isEmpty && quiet.taken.values.allSatisfy { $0 == 0 }, "\(quiet.taken)")

        try await store.turns().talk(caller, "More", in: conversation)
        let short = try await page(after: token.next, limit: 20)
        #expect(short.page.items.count == 3)
        #expect(short.taken["messages", default: 0] <= 1 + 2 && short.taken["turns", default: 0] <= 1, "\(short.taken)")
        #expect(short.taken["conversations", default: 0] <= 3, "\(short.taken)")
    }
}
