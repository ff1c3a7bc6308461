import CoachCore
import CoachStore
import Foundation
import PostgresClient
import Testing

@Suite("Personas in a turn")
struct PersonaTests {
    @Test("a turn has the published persona with its settings as text, and the conversation keeps it")
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
            try await store.value("select persona_id::text from public.model_calls where turn_id = \(first.identity.turnID.uuid)")
                == maya.description)

        for asked in [nil, maya, other] {
            let request = TurnRequest(message: "On", conversationID: first.identity.conversationID, personaID: asked)
            let next = try await turns.begin(caller, request, risk: .calm).begun
            #expect(next.persona == expected)
            try await turns.finish(.complete(next.identity, of: caller))
        }
    }

    @Test("draft, unknown, unpublished and deleted personas are rejected")
    func closed() async throws {
        let store = try await StoreFixture.shared()
        let (caller, creator, turns) = (Caller.someone(), Caller.someone(role: .creator), store.turns())
        let draft = try await store.persona(status: "draft", of: creator.userID)
        let unpublished = try await store.persona(status: "unpublished")
        let deleted = try await store.persona()
        try await store.admin.execute("update public.coaching_personas set deleted_at = now() where id = \(deleted.uuid)")
        for persona in [draft, unpublished, deleted, .random()] {
            let opening = try await turns.begin(caller, TurnRequest(message: "Hi", personaID: persona), risk: .calm)
            #expect(try opening.rejection.reason == .unknownPersona)
        }
        let shared = TurnRequest(message: "Hi", shareToken: "no-such-link")
        #expect(try await turns.begin(caller, shared, risk: .calm).rejection.reason == .unknownPersona)
        #expect(try await store.count("select count(*) from public.conversations where user_id = \(caller.userID.uuid)") == 0)
        let own = try await turns.begin(creator, TurnRequest(message: "Hi", personaID: draft), risk: .calm)
        #expect(try own.rejection.reason == .unknownPersona)
    }

    @Test("a creator's edit through PostgREST takes effect when it is published, in new conversations only")
    func versions() async throws {
        let store = try await StoreFixture.shared()
        let (caller, creator, turns) = (Caller.someone(), Caller.someone(role: .creator), store.turns())
        let persona = try await store.persona(of: creator.userID)
        let first = try await turns.begin(caller, TurnRequest(message: "Hi", personaID: persona), risk: .calm).begun
        try await turns.finish(.complete(first.identity, of: caller))

        let edit: Query = "update public.coaching_personas set name = 'Doom', tone = '\"Shout.\"' where id = \(persona.uuid)"
        #expect(try await store.postgrest(creator, edit) == 1)
        let published: Query = "select name || ' ' || version from public.published_personas where id = \(persona.uuid)"
        #expect(try await store.value(published) == "Maya 1")
        let next = try await turns.begin(caller, TurnRequest(message: "Hi", personaID: persona), risk: .calm).begun
        #expect(next.persona == first.persona)

        let publish: Query = "select gateway.publish_persona(\(creator.userID.uuid), \(persona.uuid))::text"
        #expect(try await store.value(publish) == "2")
        #expect(try await store.value(publish) == "2", "nothing has changed")
        #expect(try await store.value(published) == "Doom 2")
        let kept = TurnRequest(message: "On", conversationID: first.identity.conversationID)
        #expect(try await turns.begin(caller, kept, risk: .calm).begun.persona == first.persona)
        #expect(try await turns.begin(caller, TurnRequest(message: "Hi", personaID: persona), risk: .calm).begun.persona?.name == "Doom")

        for rewrite in [
            "update public.persona_versions set name = 'x' where persona_id = \(persona.uuid)",
            "insert into public.persona_versions (persona_id, version, name) values (\(persona.uuid), 3, 'x')",
            "update public.coaching_personas set published_version = 1 where id = \(persona.uuid)",
        ] as [Query] {
            await #expect(throws: PostgresError.self) { try await store.postgrest(creator, rewrite) }
        }
        await #expect(throws: PostgresError.self) { try await store.admin.execute("update public.persona_versions set name = 'x'") }
    }

    @Test("only the creator can publish a persona, and nothing that an operator has withdrawn")
    func publishers() async throws {
        let store = try await StoreFixture.shared()
        let creator = UserID.random()
        let persona = try await store.persona(status: "draft", of: creator)
        #expect(try await store.value("select gateway.publish_persona(\(UserID.random().uuid), \(persona.uuid))::text") == nil)
        #expect(try await store.value("select gateway.publish_persona(\(creator.uuid), \(persona.uuid))::text") == "1")
        try await store.admin.execute("update public.coaching_personas set status = 'withdrawn' where id = \(persona.uuid)")
        #expect(try await store.value("select gateway.publish_persona(\(creator.uuid), \(persona.uuid))::text") == nil)
    }

    @Test("a conversation keeps an unpublished persona, and loses a withdrawn one", arguments: ["unpublished", "withdrawn"])
    func withdrawn(status: String) async throws {
        let store = try await StoreFixture.shared()
        let (caller, turns) = (Caller.someone(), store.turns())
        let persona = try await store.persona()
        let first = try await turns.begin(caller, TurnRequest(message: "Hi", personaID: persona), risk: .calm).begun.identity
        try await turns.finish(.complete(first, of: caller))
        try await store.admin.execute("update public.coaching_personas set status = \(status) where id = \(persona.uuid)")
        let request = TurnRequest(message: "Still there?", conversationID: first.conversationID)
        let context = try await turns.begin(caller, request, risk: .calm).begun
        #expect((context.persona?.id == persona) == (status == "unpublished") && context.history.count == 2)
    }

    @Test(
        "a request may name its conversation's own persona, also when that is unpublished or not listed any more, but not a withdrawn one",
        arguments: [("unpublished", "listed"), ("published", "link"), ("withdrawn", "listed")])
    func namesOwnPersona(status: String, visibility: String) async throws {
        let store = try await StoreFixture.shared()
        let (caller, turns) = (Caller.someone(), store.turns())
        let persona = try await store.persona()
        let slug = try #require(try await store.value("select slug from public.coaching_personas where id = \(persona.uuid)"))
        let first = try await turns.begin(caller, TurnRequest(message: "Hi", personaID: persona), risk: .calm).begun.identity
        try await turns.finish(.complete(first, of: caller))
        try await store.admin.execute(
            "update public.coaching_personas set status = \(status), visibility = \(visibility) where id = \(persona.uuid)")
        for request in [
            TurnRequest(message: "On", conversationID: first.conversationID, personaID: persona),
            TurnRequest(message: "On", conversationID: first.conversationID, personaSlug: slug),
        ] {
            let result = try await turns.begin(caller, request, risk: .calm)
            if status == "withdrawn" {
                #expect(try result.rejection.reason == .unknownPersona)
            } else {
                let begun = try result.begun
                #expect(begun.persona?.id == persona)
                try await turns.finish(.complete(begun.identity, of: caller))
            }
        }
        let other = try await turns.talk(caller, "Hello")
        for conversation in [nil, other.conversationID] {
            let request = TurnRequest(message: "Hi", conversationID: conversation, personaID: persona)
            #expect(try await turns.begin(caller, request, risk: .calm).rejection.reason == .unknownPersona)
        }
    }

    @Test("the next attempt of a request keeps the persona that it named, or whose share link, when that is unpublished meanwhile")
    func nextAttempt() async throws {
        let store = try await StoreFixture.shared()
        let (caller, creator, turns) = (Caller.someone(), Caller.someone(role: .creator), store.turns())
        let persona = try await store.persona(of: creator.userID)
        let sharing = PersonaSharing.postgres(client: store.gateway)
        let link = try await sharing.create(creator, persona, .random(), ShareLinkDraft())
        let requests = [
            TurnRequest(message: "Hi", personaID: persona, idempotencyKey: "named"),
            TurnRequest(message: "Hi", shareToken: link.token, idempotencyKey: "shared"),
        ]
        var firsts: [TurnIdentity] = []
        for request in requests {
            let first = try await turns.begin(caller, request, risk: .calm).begun.identity
            try await turns.finish(.failed(first, of: caller))
            firsts.append(first)
        }
        try await store.admin.execute("update public.coaching_personas set status = 'unpublished' where id = \(persona.uuid)")
        for (request, first) in zip(requests, firsts) {
            let again = try await turns.begin(caller, request, risk: .calm).begun
            #expect(again.identity.turnID == first.turnID && again.identity.attempt == 2 && again.persona?.id == persona)
            try await turns.finish(.complete(again.identity, of: caller))
        }
    }

    @Test("a conversation made before its first message keeps the version of then, also when that is no longer published")
    func keptVersion() async throws {
        let store = try await StoreFixture.shared()
        let (caller, turns) = (Caller.someone(), store.turns())
        _ = try await turns.talk(caller, "Hello")
        let persona = try await store.persona()
        let made = try await store.conversations.create(caller, ConversationDraft(id: .random(), personaID: persona))
        try await store.admin.execute("update public.coaching_personas set status = 'unpublished' where id = \(persona.uuid)")
        let request = TurnRequest(message: "Hi", conversationID: made.id)
        #expect(try await turns.begin(caller, request, risk: .calm).begun.persona?.id == persona)
    }
}
