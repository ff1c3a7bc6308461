import CoachCore
import CoachStore
import Foundation
import PostgresClient
import TestSupport
import Testing

/// What the index of searches keeps of messages that are deleted.
@Suite("Words of deleted messages")
struct DeletedWordsTests {
    private let store: StoreFixture
    private let caller = Caller.someone()
    private var words: Query { "select count(*) from public.message_words where user_id = \(caller.userID.uuid) and words <> ''" }

    init() async throws {
        store = try await StoreFixture()
        _ = try await store.requests().take(caller)
    }

    /// A response of the words.
    private func response(_ words: String) async throws -> TurnIdentity {
        let turn = try await store.turns().talk(caller, words, answer: words)
        try await store.admin.execute("update public.conversations set source = 'openai' where id = \(turn.conversationID.uuid)")
        return turn
    }

    private func index() async throws { while try await MessageIndexer.postgres(client: store.gateway).indexPart(caller.userID) {} }

    /// Begins `work` while an indexing has read the messages and is not committed. Commits it when `work` waits or has done what `isDone` counts.
    private func duringIndexing<Value: Sendable>(
        isDone: Query, _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        let state: Query = """
            select (select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()) + (\(isDone))
            """
        return try await store.gateway.withConnection { lease in
            try await lease.execute("begin")
            try await lease.execute(
                """
                select set_config('request.jwt.claims', \(caller.claims), true),
                    set_config('request.jwt.claim.sub', \(caller.userID.description), true)
                """)
            try await lease.execute("select gateway.index_messages_3(\(caller.userID.uuid), 250, 150000, 0)")
            let running = Task { try await work() }
            while try await store.count(state) == 0 { await Task.yield() }
            try await lease.execute("commit")
            return try await running.value
        }
    }

    @Test("none stay of a response that is deleted while its texts are indexed", arguments: [true, false])
    func response(isFirstIndexing: Bool) async throws {
        if !isFirstIndexing { try await index() }
        let turn = try await response("canary")
        let responses = ResponseRepository.postgres(client: store.gateway)
        let isDone: Query = "select count(*) from public.turns where id = \(turn.turnID.uuid) and deleted_at is not null"
        let caller = self.caller
        #expect(try await duringIndexing(isDone: isDone) { try await responses.delete(caller, turn.turnID) })
        #expect(try await store.count("select count(*) from public.message_words where user_id = \(caller.userID.uuid)") == 2)
        #expect(try await store.count(words) == 0)
        // What comes later is indexed as ever.
        try await store.turns().talk(caller, "canary", answer: "hay")
        let found = try await MessageSearch.postgres(client: store.gateway).search(caller, "canary", PageRequest(limit: 10))
        #expect(found.items.count == 1)
    }

    @Test("none stay of a conversation whose content is removed while it is indexed")
    func conversation() async throws {
        try await index()
        let turn = try await store.turns().talk(caller, "canary", answer: "canary")
        _ = try await store.conversations.delete(caller, turn.conversationID, nil)
        try await store.admin.execute("update public.conversations set deleted_at = now() - interval '1 year'")
        let housekeeping = Housekeeping.postgres(client: store.gateway, daysKept: 30)
        let isDone: Query = "select count(*) from public.conversations where purged_at is not null"
        #expect(try await duringIndexing(isDone: isDone) { try await housekeeping.purge() } == 1)
        #expect(try await store.count("select count(*) from public.message_words where user_id = \(caller.userID.uuid)") == 0)
    }

    @Test("those of responses that were deleted by an earlier release are removed by a migration, and no others")
    func migration() async throws {
        let turn = try await response("canary")
        try await store.turns().talk(caller, "robin", answer: "robin")
        try await index()
        #expect(try await ResponseRepository.postgres(client: store.gateway).delete(caller, turn.turnID))
        try await store.admin.execute("update public.message_words set words = 'canary' where words = ''")
        #expect(try await store.count(words) == 4)
        let file = Project.migrations.appending(path: "00115_words_of_deleted_responses.sql")
        try await store.admin.execute(Query(unsafeSQL: try String(contentsOf: file, encoding: .utf8)))
        #expect(try await store.count(words) == 2)
        #expect(try await store.count("select count(*) from public.message_words where words @@ 'robin'") == 2)
    }
}
