import CoachCore
import CoachStore
import PostgresClient
import TestSupport

/// Makes random changes of what a user synchronises. The same seed makes the same ones.
struct RandomChanges {
    let store: StoreFixture
    let caller: Caller
    let seed: UInt64
    var random: SeededGenerator

    init(_ store: StoreFixture, _ caller: Caller, seed: UInt64) {
        self.store = store
        self.caller = caller
        self.seed = seed
        random = SeededGenerator(state: seed)
    }

    /// Makes so many changes, also of personas of `creator`. One in fifty is committed after a page that was read meanwhile: the reader waits behind
    /// the other writer, who waits for the lock, most of a second.
    mutating func make(_ count: Int, _ conversations: [ConversationID], _ creator: Caller, _ pages: PageCounter) async throws {
        let profiles = ContextProfileRepository.postgres(client: store.gateway)
        var personas: [(owner: Caller, id: PersonaID)] = []
        for owner in [caller, creator] {
            for _ in 0..<3 { personas.append((owner, try await store.personas().create(owner, .random(), try .named("P")).id)) }
        }
        for number in 0..<count {
            let conversation = conversations[Int.random(in: 0..<conversations.count, using: &random)]
            let text = "\(seed) \(number)"
            switch Int.random(in: 0..<100, using: &random) {
            case 0..<2: try await commitLate(text, conversation, pages)
            case 2..<12: _ = try await profiles.edit(caller, .init(fields: [.goals: [.string(text)]], expectedVersions: nil))
            case 12..<22: _ = try await store.conversations.create(caller, title: text)
            case 22..<32:
                let page = try await store.conversations.list(caller, limit: 1)
                if let newest = page.items.first, !conversations.contains(newest.id) {
                    // The other writer may have deleted it.
                    _ = try? await store.conversations.delete(caller, newest.id, nil)
                }
            case 32..<62:
                let persona = personas[Int.random(in: 0..<personas.count, using: &random)]
                try await change(persona.id, of: persona.owner, as: text)
            case 62..<85: try await turn(in: conversation, text)
            default: _ = try await store.conversations.patch(caller, conversation, .init(title: text))
            }
        }
    }

    private func commitLate(_ title: String, _ conversation: ConversationID, _ pages: PageCounter) async throws {
        try await store.admin.withTransaction { lease in
            try await lease.execute("select set_config('request.jwt.claim.sub', \(caller.userID.description), true)")
            try await lease.execute(
                "update public.conversations set title = \(title) where user_id = \(caller.userID.uuid) and id = \(conversation.uuid)")
            let begun = pages.count
            try await eventually { pages.count > begun + 1 }
        }
    }

    /// A turn with a random end, and sometimes another one on its message. The other writer's turn may be running in the conversation.
    mutating func turn(in conversation: ConversationID, _ message: String) async throws {
        let turns = store.turns()
        guard
            case .begun(var context, _, _) = try await turns.begin(
                caller, TurnRequest(message: message, conversationID: conversation), risk: .calm)
        else { return }
        while true {
            try await turns.finish(receipt(context.identity))
            guard Int.random(in: 0..<3, using: &random) == 0,
                case .begun(let again, _, _) = try await turns.retry(caller, context.identity.turnID)
            else { return }
            context = again
        }
    }

    /// With text; stopped before any; or failed. The domain is decided at the end.
    private mutating func receipt(_ identity: TurnIdentity) -> TurnReceipt {
        let domain = Domain.allCases.randomElement(using: &random)
        switch Int.random(in: 0..<4, using: &random) {
        case 0: return .failed(identity, of: caller)
        case 1:
            var receipt = TurnReceipt.complete(identity, of: caller, "", domain: domain)
            (receipt.status, receipt.finishReason) = (.stopped, .stopped)
            return receipt
        default: return .complete(identity, of: caller, "Answer.", domain: domain)
        }
    }

    /// One random change of a persona.
    private mutating func change(_ id: PersonaID, of owner: Caller, as name: String) async throws {
        let (personas, sharing) = (store.personas(), PersonaSharing.postgres(client: store.gateway))
        switch Int.random(in: 0..<6, using: &random) {
        case 0, 1: _ = try await personas.put(owner, id, try .named("P \(name)"), nil)
        case 2: _ = try await personas.publish(owner, id, .listed)
        case 3: _ = try await personas.publish(owner, id, .link)
        // Draft personas were never published.
        case 4: try? await personas.unpublish(owner, id)
        default:
            let link = try await sharing.create(owner, id, .random(), ShareLinkDraft())
            _ = try? await sharing.redeem(caller, link.token)
            try await sharing.revoke(owner, id, link.id)
        }
    }
}
