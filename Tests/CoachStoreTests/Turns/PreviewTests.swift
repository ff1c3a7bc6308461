import CoachCore
import CoachStore
import Foundation
import PostgresClient
import Testing

@Suite("Previews of drafts")
struct PreviewTests {
    private func preview(_ persona: PersonaID, key: String? = nil) -> TurnRequest {
        TurnRequest(message: "Hi", personaID: persona, idempotencyKey: key, source: .preview)
    }

    @Test("the draft answers its creator, and the ledger has the cost with its purpose; no list has the conversation")
    func draft() async throws {
        let store = try await StoreFixture.shared()
        let (creator, turns) = (Caller.someone(role: .creator), store.turns())
        let persona = try await store.persona(status: "draft", of: creator.userID)
        let sync = SyncRepository.postgres(client: store.gateway)
        let begun = try await turns.begin(creator, preview(persona, key: "k"), risk: .calm).begun
        #expect(begun.persona?.name == "Maya" && begun.history.isEmpty)
        try await turns.finish(.complete(begun.identity, of: creator))
        #expect(try await turns.begin(creator, preview(persona, key: "k"), risk: .calm).known.content == "Good question.")
        var kept = preview(persona, key: "k")
        kept.source = .app
        #expect(try await turns.begin(creator, kept, risk: .calm).rejection.reason == .idempotencyMismatch)

        #expect(
            try await store.value(
                "select string_agg(distinct purpose::text, ',') from public.usage_logs where turn_id = \(begun.identity.turnID.uuid)")
                == "preview")
        let cost: Query = "select sum(spent_usd)::text from public.budgets where user_id = \(creator.userID.uuid)"
        #expect(try await store.value(cost) == "0.000123456")
        #expect(try await store.conversations.list(creator, limit: 10).items.isEmpty)
        await #expect(throws: Rejection(reason: .notFound)) {
            try await store.conversations.messages(creator, begun.identity.conversationID, limit: 10)
        }
        #expect(try await sync.changes(creator, nil, 100).items.allSatisfy { if case .message = $0 { false } else { true } })
        let export = ExportRepository.postgres(client: store.gateway)
        #expect(try await export.messages(creator, nil, 10).isEmpty)
        #expect(try await export.rows(creator, .turns, nil, 10).isEmpty)
        #expect(try await MessageSearch.postgres(client: store.gateway).search(creator, "question", PageRequest(limit: 10)).items.isEmpty)

        let next = TurnRequest(message: "On", conversationID: begun.identity.conversationID)
        #expect(try await turns.begin(creator, next, risk: .calm).rejection.reason == .notFound)
    }

    @Test("nobody previews another creator's draft, nor one that was deleted or withdrawn; a user in danger is answered without it")
    func closed() async throws {
        let store = try await StoreFixture.shared()
        let (creator, other, turns) = (Caller.someone(role: .creator), Caller.someone(role: .creator), store.turns())
        let persona = try await store.persona(of: creator.userID)
        #expect(try await turns.begin(other, preview(persona), risk: .calm).rejection.reason == .notFound)
        #expect(try await turns.begin(other, preview(persona), risk: .danger(.high)).begun.persona == nil)
        try await store.admin.execute("update public.coaching_personas set status = 'withdrawn' where id = \(persona.uuid)")
        #expect(try await turns.begin(creator, preview(persona), risk: .calm).rejection.reason == .notFound)

        let deleted = try await store.persona(status: "draft", of: creator.userID)
        let begun = try await turns.begin(creator, preview(deleted), risk: .calm).begun.identity
        try await turns.finish(.complete(begun, of: creator))
        try await store.personas().delete(creator, deleted)
        #expect(try await turns.begin(creator, preview(deleted), risk: .calm).rejection.reason == .notFound)
        #expect(try await turns.begin(creator, preview(deleted), risk: .danger(.high)).begun.persona == nil)
    }

    @Test("a failed preview is tried again with its key; a repeated one is removed some minutes after it began, without a tombstone")
    func removal() async throws {
        let store = try await StoreFixture()
        let (creator, turns) = (Caller.someone(role: .creator), store.turns())
        let persona = try await store.persona(status: "draft", of: creator.userID)
        let first = try await turns.begin(creator, preview(persona, key: "k"), risk: .calm).begun.identity
        try await turns.finish(.failed(first, of: creator))
        let second = try await turns.begin(creator, preview(persona, key: "k"), risk: .calm).begun
        #expect(second.identity.turnID == first.turnID && second.identity.attempt == 2 && second.persona?.name == "Maya")
        let housekeeping = Housekeeping.postgres(client: store.gateway, daysKept: 30)
        try await store.admin.execute("update public.conversations set last_message_at = now() - interval '11 minutes'")
        #expect(try await housekeeping.purgePreviews() == 0, "it runs")
        try await turns.finish(.complete(second.identity, of: creator))
        let removedThrough: Query = "select removed_through::text from public.change_counters where user_id = \(creator.userID.uuid)"
        #expect(try await housekeeping.purgePreviews() == 1)
        #expect(try await store.value(removedThrough) == "0")
        for table in ["conversations", "turns", "messages"] {
            #expect(try await store.count(Query(unsafeSQL: "select count(*) from public.\(table)")) == 0, "\(table)")
        }
        #expect(try await store.count("select count(*) from public.usage_logs where purpose = 'preview' and finalized_by is not null") == 1)
    }

    @Test("those of a creator with many turns are removed without reading these")
    func manyTurns() async throws {
        let store = try await StoreFixture()
        let creator = Caller.someone(role: .creator)
        let kept = try await store.turns().talk(creator, "Kept").conversationID
        try await store.admin.execute(
            """
            insert into public.turns (user_id, conversation_id, user_message_id, seq, status, request_hash, conversation_named, tier, day)
            select \(creator.userID.uuid), \(kept.uuid), gen_random_uuid(), 2 + n, 'complete', '', false, 'free', current_date
            from generate_series(1, 5000) n
            """)
        try await store.admin.execute(
            """
            with preview as (
                insert into public.conversations (user_id, source, ephemeral, last_seq, last_message_at)
                select \(creator.userID.uuid), 'preview', true, 2, now() - interval '1 hour' from generate_series(1, 200)
                returning user_id, id
            ), turn as (
                insert into public.turns (user_id, conversation_id, user_message_id, seq, status, request_hash, conversation_named, tier, day)
                select p.user_id, p.id, gen_random_uuid(), 1, 'complete', '', false, 'free', current_date from preview p
                returning user_id, conversation_id, id
            )
            insert into public.messages (user_id, conversation_id, turn_id, seq, role, content, token_count)
            select t.user_id, t.conversation_id, t.id, 1, 'user', 'x', 1 from turn t
            """)
        let pages = try await store.pages(of: "gateway.purge_previews(interval '10 minutes', 20)")
        #expect(pages < 2_000, "\(pages)")
        _ = try await Housekeeping.postgres(client: store.gateway, daysKept: 30).purgePreviews()
        #expect(try await store.count("select count(*) from public.turns") == 5_001)
        #expect(try await store.count("select count(*) from public.messages where content = 'x'") == 0)
    }
}
