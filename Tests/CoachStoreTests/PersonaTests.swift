import CoachCore
import CoachStore
import Foundation
import PostgresClient
import Testing

@Suite("Personas in a turn")
struct PersonaTests {
    @Test("a published persona speaks, its settings as texts, and the conversation keeps it")
    func published() async throws {
        let store = try await StoreFixture.shared()
        let (caller, turns) = (Caller.someone(), store.turns())
        let maya = try await store.persona(domain: .careerCoaching)
        let other = try await store.persona(name: "Leo")
        let first = try await turns.begin(caller, TurnRequest(message: "Hi", personaID: maya), risk: .calm).begun
        let expected = Persona(
            id: maya, name: "Maya", domain: .careerCoaching, tone: "style: calm", methodology: "GROW; tiny steps", personality: "Kind.")
        #expect(first.persona == expected)
        try await turns.finish(.complete(first.identity, of: caller))
        #expect(
            try await store.value("select persona_id::text from public.usage_logs where turn_id = \(first.identity.turnID.uuid)")
                == maya.description)

        for asked in [nil, maya, other] {
            let request = TurnRequest(message: "On", conversationID: first.identity.conversationID, personaID: asked)
            let next = try await turns.begin(caller, request, risk: .calm).begun
            #expect(next.persona == expected)
            try await turns.finish(.complete(next.identity, of: caller))
        }
    }

    @Test("a draft speaks to its creator alone; unknown, unpublished and deleted ones to nobody else")
    func closed() async throws {
        let store = try await StoreFixture.shared()
        let (caller, creator, turns) = (Caller.someone(), Caller.someone(role: .creator), store.turns())
        let draft = try await store.persona(status: "draft", of: creator.userID)
        let unpublished = try await store.persona(status: "unpublished")
        let deleted = try await store.persona()
        try await store.admin.execute("update public.coaching_personas set deleted_at = now() where id = \(deleted.uuid)")
        for persona in [draft, unpublished, deleted, .random()] {
            let opening = try await turns.begin(caller, TurnRequest(message: "Hi", personaID: persona), risk: .calm)
            #expect(try opening.refusal.reason == .unknownPersona)
        }
        let shared = TurnRequest(message: "Hi", shareToken: "no-such-link")
        #expect(try await turns.begin(caller, shared, risk: .calm).refusal.reason == .unknownPersona)
        #expect(try await store.count("select count(*) from public.conversations where user_id = \(caller.userID.uuid)") == 0)
        #expect(try await turns.begin(creator, TurnRequest(message: "Hi", personaID: draft), risk: .calm).begun.persona?.id == draft)
    }

    @Test("a conversation whose persona was withdrawn goes on without it")
    func withdrawn() async throws {
        let store = try await StoreFixture.shared()
        let (caller, turns) = (Caller.someone(), store.turns())
        let persona = try await store.persona()
        let first = try await turns.begin(caller, TurnRequest(message: "Hi", personaID: persona), risk: .calm).begun.identity
        try await turns.finish(.complete(first, of: caller))
        try await store.admin.execute("update public.coaching_personas set status = 'unpublished' where id = \(persona.uuid)")
        let request = TurnRequest(message: "Still there?", conversationID: first.conversationID)
        let context = try await turns.begin(caller, request, risk: .calm).begun
        #expect(context.persona == nil && context.history.count == 2)
    }
}
