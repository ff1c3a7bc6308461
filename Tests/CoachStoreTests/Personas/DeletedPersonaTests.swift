import CoachCore
import CoachStore
import JSON
import PostgresClient
import Testing

@Suite("Deleted personas")
struct DeletedPersonaTests {
    private static let contentOf: Query = """
        select count(*) from (
            select v.persona_id from public.persona_versions v union all select a.persona_id from public.persona_avatars a
            union all select l.persona_id from public.share_links l
            union all select p.id from public.coaching_personas p
            where (p.name, p.slug, p.description, p.domain, p.tone, p.methodology, p.personality, p.starters, p.languages, p.card)
                is distinct from ('-', null, null, null, null, null, null, null, null, null)) c
        where c.persona_id =
        """

    private func content(_ store: StoreFixture, of id: PersonaID) async throws -> Int {
        var query = Self.contentOf
        query.append(" \(id.uuid)")
        return try await store.count(query)
    }

    /// A published persona with a card, an avatar and a link.
    private func made(_ store: StoreFixture, by creator: Caller, _ name: String) async throws -> PersonaID {
        let personas = store.personas()
        let card: JSONValue = ["spec": "chara_card_v3", "data": ["name": .string(name), "system_prompt": "kept"]]
        let id = try await personas.create(creator, .random(), try .named(name)).id
        _ = try await personas.importCard(creator, id, try CharacterCard(JSONReader(card)), nil)
        _ = try await personas.put(creator, id, try .named(name, tone: "warm"), nil)
        #expect(try await personas.publish(creator, id, .listed))
        _ = try await PersonaSharing.postgres(client: store.gateway).create(creator, id, .random(), ShareLinkDraft())
        try await store.admin.execute("insert into public.persona_avatars values (\(id.uuid), 'image/png', '\\x00')")
        return id
    }

    @Test("lose their content after the time that deleted conversations have; clients learn it, and conversations go on as before")
    func purge() async throws {
        let store = try await StoreFixture()
        let (creator, other, turns) = (Caller.someone(role: .creator), Caller.someone(role: .creator), store.turns())
        for caller in [creator, other] { _ = try await store.requests().take(caller) }
        let old = try await made(store, by: creator, "Old")
        let recent = try await made(store, by: creator, "Recent")
        let kept = try await made(store, by: creator, "Kept")
        let conversation = try await turns.begin(other, TurnRequest(message: "Hi", personaID: old), risk: .calm).begun.identity
        try await turns.finish(.complete(conversation, of: other))
        let sync = SyncRepository.postgres(client: store.gateway)
        let before = try await sync.changes(creator, nil, 100).position.next
        for id in [old, recent] { try await store.personas().delete(creator, id, nil) }
        try await store.admin.execute(
            "update public.coaching_personas set deleted_at = now() - interval '31 days' where id = \(old.uuid)")
        let housekeeping = Housekeeping.postgres(client: store.gateway, daysKept: 30)
        #expect(try await housekeeping.purgePersonas() == 1)
        #expect(try await housekeeping.purgePersonas() == 0)
        #expect(try await content(store, of: old) == 0)
        for id in [recent, kept] { #expect(try await content(store, of: id) == 4) }

        let changes = try await sync.changes(creator, before, 100).items
        #expect(changes.contains { if case .personaRemoved(old) = $0 { true } else { false } })
        // The coach itself goes on, and the id stays that of its creator.
        let next = TurnRequest(message: "On", conversationID: conversation.conversationID)
        #expect(try await turns.begin(other, next, risk: .calm).begun.persona == nil)
        await #expect(throws: Rejection(reason: .notFound)) { try await store.personas().create(other, old, .named("Eve")) }
    }

    @Test("are exported apart from the others until then, and not after it")
    func export() async throws {
        let store = try await StoreFixture()
        let creator = Caller.someone(role: .creator)
        _ = try await store.requests().take(creator)
        let (kept, deleted) = (try await made(store, by: creator, "Kept"), try await made(store, by: creator, "Deleted"))
        try await store.personas().delete(creator, deleted, nil)
        let export = ExportRepository.postgres(client: store.gateway)
        #expect(try await export.personas(creator, nil, 10).map(\.id) == [kept])
        let rows = try await export.rows(creator, .deletedPersonas, nil, 10).map(\.json)
        #expect(rows.count == 1 && rows[0]["id"]?.string == "\(deleted)" && rows[0]["name"] == "Deleted" && rows[0]["tone"] == "warm")
        #expect(rows[0]["deleted_at"]?.string?.hasSuffix("Z") == true)
        #expect(try await export.rows(creator, .cards, nil, 10).count == 2)
        #expect(try await Housekeeping.postgres(client: store.gateway, daysKept: 0).purgePersonas() == 1)
        #expect(try await export.rows(creator, .deletedPersonas, nil, 10).isEmpty)
        for list in [ExportedList.cards, .personaVersions, .shareLinks] {
            #expect(try await export.rows(creator, list, nil, 10).count == 1, "\(list)")
        }
        #expect(try await export.avatar(creator, nil)?.personaID == kept)
    }

    @Test("cannot be removed by a statement that is bound to a user")
    func bound() async throws {
        let store = try await StoreFixture.shared()
        await #expect(throws: PostgresError.self) {
            try await store.gateway.batch([
                "select set_config('request.jwt.claims', \(Caller.someone().claims), true)",
                "select gateway.purge_personas(interval '0', 1)",
            ]) { _ in }
        }
    }
}
