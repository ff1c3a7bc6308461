import CoachCore
import CoachStore
import Foundation
import PostgresClient
import Testing

@Suite("Share links of personas")
struct PersonaSharingTests {
    private struct Ground {
        let store: StoreFixture
        let creator = Caller.someone(role: .creator)
        let persona: PersonaID
        var sharing: PersonaSharing { .postgres(client: store.gateway) }
        var personas: PersonaRepository { store.personas() }

        init() async throws {
            store = try await StoreFixture.shared()
            persona = try await store.persona(visibility: "link", of: creator.userID)
        }

        func user() async throws -> Caller {
            let caller = Caller.someone()
            _ = try await store.requests().take(caller)
            return caller
        }

        func link(_ draft: ShareLinkDraft = ShareLinkDraft()) async throws -> ShareLink {
            try await sharing.create(creator, persona, .random(), draft)
        }
    }

    @Test("an unlisted persona is not accessible until its link is redeemed, in REST and in chat")
    func access() async throws {
        let ground = try await Ground()
        let (user, turns, id) = (try await ground.user(), ground.store.turns(), ground.persona)
        let request = TurnRequest(message: "Hi", personaID: id)
        #expect(try await turns.begin(user, request, risk: .calm).rejection.reason == .unknownPersona)
        await #expect(throws: Rejection(reason: .notFound)) { try await ground.personas.publishedOne(user, id) }
        await #expect(throws: Rejection(reason: .unknownPersona)) {
            try await ground.store.conversations.create(user, ConversationDraft(personaID: id))
        }
        #expect(try await turns.begin(ground.creator, request, risk: .calm).begun.persona?.id == id, "its creator needs no link")

        let link = try await ground.link()
        #expect(try await ground.sharing.redeem(user, link.token) == id)
        #expect(try await ground.personas.publishedOne(user, id).content["name"] == "Maya")
        #expect(try await ground.personas.published(user, PageRequest(limit: 100)).items.contains { $0.id == id })
        #expect(try await turns.begin(user, request, risk: .calm).begun.persona?.id == id)
    }

    @Test("a chat request redeems its link, and rejects a link of another persona")
    func chat() async throws {
        let ground = try await Ground()
        let (user, turns, link) = (try await ground.user(), ground.store.turns(), try await ground.link())
        let other = try await ground.store.persona()
        let mismatch = TurnRequest(message: "Hi", personaID: other, shareToken: link.token)
        #expect(try await turns.begin(user, mismatch, risk: .calm).rejection.reason == .unknownPersona)
        let uses: Query = "select uses::text from public.share_links where token = \(link.token)"
        #expect(try await ground.store.value(uses) == "0", "a rejected request uses nothing up")
        let begun = try await turns.begin(user, TurnRequest(message: "Hi", shareToken: link.token), risk: .calm).begun
        #expect(begun.persona?.id == ground.persona)
        #expect(try await ground.store.value(uses) == "1")
    }

    @Test("each user counts as one use of a link; of concurrent redemptions no more succeed than the link allows")
    func uses() async throws {
        let ground = try await Ground()
        let link = try await ground.link(ShareLinkDraft(maximumUses: 3))
        #expect(try await ground.sharing.redeem(ground.creator, link.token) == ground.persona)
        let users = try await (0..<8).asyncMap { _ in try await ground.user() }
        let winners = await withTaskGroup(of: Caller?.self) { group in
            for user in users { group.addTask { (try? await ground.sharing.redeem(user, link.token)) == nil ? nil : user } }
            return await group.reduce(into: [Caller]()) { if let user = $1 { $0.append(user) } }
        }
        #expect(winners.count == 3)
        for user in winners { #expect(try await ground.sharing.redeem(user, link.token) == ground.persona) }
        let late = try await ground.user()
        await #expect(throws: Rejection(reason: .notFound)) { try await ground.sharing.redeem(late, link.token) }
        #expect(try await ground.sharing.links(ground.creator, ground.persona, PageRequest(limit: 9)).items.map(\.uses) == [3])
        #expect(try await ground.sharing.shared(link.token) == nil)
        #expect(
            try await ground.store.count("select count(*) from public.persona_redemptions where persona_id = \(ground.persona.uuid)") == 3)
    }

    @Test("unknown, revoked, expired links and links of unpublished personas are not found; earlier redeemers keep access")
    func closed() async throws {
        let ground = try await Ground()
        let (early, late) = (try await ground.user(), try await ground.user())
        let (revoked, open) = (try await ground.link(), try await ground.link())
        let expired = try await ground.link(ShareLinkDraft(expiresAt: Date(timeIntervalSinceNow: -1)))
        _ = try await ground.sharing.redeem(early, revoked.token)
        #expect(try await ground.sharing.shared(revoked.token)?.id == ground.persona)
        try await ground.sharing.revoke(ground.creator, ground.persona, revoked.id)
        for token in [revoked.token, expired.token, ShareLink.randomToken(), ""] {
            await #expect(throws: Rejection(reason: .notFound)) { try await ground.sharing.redeem(late, token) }
            #expect(try await ground.sharing.shared(token) == nil)
        }
        #expect(try await ground.personas.publishedOne(early, ground.persona).id == ground.persona)
        try await ground.personas.unpublish(ground.creator, ground.persona)
        await #expect(throws: Rejection(reason: .notFound)) { try await ground.sharing.redeem(late, open.token) }
        #expect(try await ground.sharing.shared(open.token) == nil)
    }

    @Test("a conversation goes on with the link that it began with when that or the persona is closed; nothing else begins with it")
    func closedMeanwhile() async throws {
        let ground = try await Ground()
        let (user, stranger) = (try await ground.user(), try await ground.user())
        let (turns, link) = (ground.store.turns(), try await ground.link())
        let first = try await turns.begin(user, TurnRequest(message: "Hi", shareToken: link.token), risk: .calm).begun.identity
        try await turns.finish(.complete(first, of: user))
        let (conversation, other) = (first.conversationID, try await turns.talk(user, "Hello").conversationID)
        let unknown = ShareLink.randomToken()
        for isUnpublished in [false, true] {
            if isUnpublished {
                try await ground.personas.unpublish(ground.creator, ground.persona)
            } else {
                try await ground.sharing.revoke(ground.creator, ground.persona, link.id)
            }
            for persona in [nil, ground.persona] {
                let request = TurnRequest(message: "On", conversationID: conversation, personaID: persona, shareToken: link.token)
                let begun = try await turns.begin(user, request, risk: .calm).begun
                #expect(begun.persona?.id == ground.persona)
                try await turns.finish(.complete(begun.identity, of: user))
            }
            for (caller, request) in [
                (user, TurnRequest(message: "Hi", conversationID: conversation, personaID: .random(), shareToken: link.token)),
                (user, TurnRequest(message: "Hi", conversationID: conversation, shareToken: unknown)),
                (user, TurnRequest(message: "Hi", conversationID: conversation, personaID: ground.persona, shareToken: unknown)),
                (user, TurnRequest(message: "Hi", conversationID: other, shareToken: link.token)),
                (user, TurnRequest(message: "Hi", shareToken: link.token)),
                (stranger, TurnRequest(message: "Hi", shareToken: link.token)),
            ] {
                #expect(try await turns.begin(caller, request, risk: .calm).rejection.reason == .unknownPersona)
            }
        }
    }

    @Test("a deleted persona has no links to create or revoke, and no avatar to set or remove")
    func deleted() async throws {
        let ground = try await Ground()
        let (link, avatars) = (try await ground.link(), PersonaAvatars.postgres(client: ground.store.gateway))
        let picture = AvatarImage(stored: [1], format: .png)
        try await avatars.put(ground.creator, ground.persona, picture)
        try await ground.personas.delete(ground.creator, ground.persona)
        await #expect(throws: Rejection(reason: .notFound)) { try await ground.sharing.revoke(ground.creator, ground.persona, link.id) }
        await #expect(throws: Rejection(reason: .notFound), "a repeated creation") {
            try await ground.sharing.create(ground.creator, ground.persona, link.id, ShareLinkDraft())
        }
        await #expect(throws: Rejection(reason: .notFound)) { try await avatars.delete(ground.creator, ground.persona) }
        await #expect(throws: Rejection(reason: .notFound)) { try await avatars.put(ground.creator, ground.persona, picture) }
    }

    @Test("only the persona's creator manages links; tokens are long, and a repeated creation returns the same")
    func owners() async throws {
        let ground = try await Ground()
        let other = Caller.someone(role: .creator)
        _ = try await ground.store.requests().take(other)
        let id = ShareLinkID.random()
        let link = try await ground.sharing.create(ground.creator, ground.persona, id, ShareLinkDraft(label: "x"))
        #expect(link.token.utf8.count == 32 && link.draft.label == "x")
        #expect(try await ground.sharing.create(ground.creator, ground.persona, id, ShareLinkDraft()) == link)
        await #expect(throws: Rejection(reason: .notFound)) { try await ground.sharing.create(other, ground.persona, .random(), .init()) }
        await #expect(throws: Rejection(reason: .notFound)) { try await ground.sharing.revoke(other, ground.persona, id) }
        await #expect(throws: Rejection(reason: .notFound)) {
            try await ground.sharing.links(other, ground.persona, PageRequest(limit: 9))
        }
        // A link is of one persona: neither a stranger's nor another of its creator's removes it.
        for owner in [other, ground.creator] {
            let persona = try await ground.personas.create(owner, .random(), try .named("Another")).id
            await #expect(throws: Rejection(reason: .notFound)) { try await ground.sharing.revoke(owner, persona, id) }
        }
        #expect(try await ground.sharing.links(ground.creator, ground.persona, PageRequest(limit: 9)).items.map(\.id) == [id])
    }

    @Test("a version for those with a link alone is not offered to others, whose conversations keep theirs")
    func closedVersion() async throws {
        let ground = try await Ground()
        let (user, turns, sharing) = (try await ground.user(), ground.store.turns(), ground.sharing)
        let persona = try await ground.store.persona(of: ground.creator.userID)
        let first = try await turns.begin(user, TurnRequest(message: "Hi", personaID: persona), risk: .calm).begun.identity
        try await turns.finish(.complete(first, of: user))
        _ = try await ground.personas.put(ground.creator, persona, try .named("Nova"), nil)
        #expect(try await ground.personas.publish(ground.creator, persona, nil))
        try await ground.store.admin.execute("update public.coaching_personas set visibility = 'link' where id = \(persona.uuid)")
        let kept = ConversationPersona(personaID: persona, name: "Maya", version: 1, newestVersion: nil)
        #expect(try await sharing.persona(user, first.conversationID) == kept)
        #expect(try await sharing.acceptVersion(user, first.conversationID) == kept)
        let link = try await sharing.create(ground.creator, persona, .random(), ShareLinkDraft())
        #expect(try await sharing.redeem(user, link.token) == persona)
        #expect(try await sharing.acceptVersion(user, first.conversationID).version == 2)
    }

    @Test("a conversation keeps its persona version until its user accepts a newer one, which changes the conversation")
    func acceptance() async throws {
        let ground = try await Ground()
        let (user, turns) = (try await ground.user(), ground.store.turns())
        _ = try await ground.sharing.redeem(user, try await ground.link().token)
        let first = try await turns.begin(user, TurnRequest(message: "Hi", personaID: ground.persona), risk: .calm).begun.identity
        try await turns.finish(.complete(first, of: user))
        let before = try await ground.store.conversations.get(user, first.conversationID)
        _ = try await ground.personas.put(ground.creator, ground.persona, try .named("Nova"), nil)
        #expect(try await ground.personas.publish(ground.creator, ground.persona, nil))

        let sharing = ground.sharing
        #expect(
            try await sharing.persona(user, first.conversationID)
                == ConversationPersona(personaID: ground.persona, name: "Maya", version: 1, newestVersion: 2))
        let accepted = ConversationPersona(personaID: ground.persona, name: "Nova", version: 2, newestVersion: 2)
        #expect(try await sharing.acceptVersion(user, first.conversationID) == accepted)
        let after = try await ground.store.conversations.get(user, first.conversationID)
        #expect(after.version > before.version)
        #expect(try await sharing.acceptVersion(user, first.conversationID) == accepted)
        #expect(try await ground.store.conversations.get(user, first.conversationID) == after, "nothing to change")
        let next = TurnRequest(message: "On", conversationID: first.conversationID)
        #expect(try await turns.begin(user, next, risk: .calm).begun.persona?.name == "Nova")

        let stranger = try await ground.user()
        await #expect(throws: Rejection(reason: .notFound)) { try await sharing.persona(stranger, first.conversationID) }
        await #expect(throws: Rejection(reason: .notFound)) { try await sharing.acceptVersion(stranger, first.conversationID) }

        try await ground.personas.unpublish(ground.creator, ground.persona, nil, "r-1")
        #expect(try await sharing.acceptVersion(user, first.conversationID).newestVersion == nil, "it still answers")
        try await ground.personas.delete(ground.creator, ground.persona, nil)
        await #expect(throws: Rejection(reason: .notFound)) { try await sharing.persona(user, first.conversationID) }
        await #expect(throws: Rejection(reason: .notFound)) { try await sharing.acceptVersion(user, first.conversationID) }
        #expect(try await ground.store.conversations.get(user, first.conversationID).personaID == ground.persona, "with whom it began")
    }
}

extension Sequence {
    fileprivate func asyncMap<Value>(_ transform: (Element) async throws -> Value) async rethrows -> [Value] {
        var values: [Value] = []
        for element in self { values.append(try await transform(element)) }
        return values
    }
}
