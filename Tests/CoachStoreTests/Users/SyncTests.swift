import CoachCore
import CoachStore
import Foundation
import JSON
import PostgresClient
import Synchronization
import TestSupport
import Testing

@Suite("SyncRepository")
struct SyncTests {
    /// Whether the copy equals the lists.
    private func expectEqual(_ copy: OfflineCopy, _ store: StoreFixture) async throws {
        let list = try await store.conversations.list(copy.caller, limit: 10_000).items
        #expect(Set(copy.conversations.values.map(\.id)) == Set(list.map(\.id)))
        #expect(list.allSatisfy { copy.conversations[$0.id] == $0 })
        var count = 0
        for conversation in list {
            let messages = try await store.conversations.messages(copy.caller, conversation.id, limit: 10_000).items
            #expect(messages.allSatisfy { copy.messages[$0.id] == $0 })
            count += messages.count
        }
        #expect(copy.messages.count == count)
        let profile = try await ContextProfileRepository.postgres(client: store.gateway).get(copy.caller)
        #expect(copy.profile ?? profile == profile && (copy.profile != nil || profile.version == 0))
        let (page, personas) = (PageRequest(limit: 10_000), store.personas())
        let own = try await personas.own(copy.caller, page).items
        #expect(copy.ownPersonas == Dictionary(uniqueKeysWithValues: own.map { ($0.id, $0) }))
        let published = try await personas.published(copy.caller, page).items.filter { persona in !own.contains { $0.id == persona.id } }
        #expect(copy.personas == Dictionary(uniqueKeysWithValues: published.map { ($0.id, $0) }))
    }

    @Test("returns profile, conversations and messages in pages, then only changes and tombstones")
    func pages() async throws {
        let store = try await StoreFixture()
        let (caller, other) = (Caller.someone(), Caller.someone())
        let first = try await store.turns().talk(caller, "One").conversationID
        let second = try await store.turns().talk(caller, "Two").conversationID
        try await store.turns().talk(other, "Not yours")
        let profiles = ContextProfileRepository.postgres(client: store.gateway)
        _ = try await profiles.edit(caller, .init(fields: [.goals: ["a"]], expectedVersions: [0]))
        var copy = OfflineCopy(store, caller)
        try await copy.synchronise(limit: 2)
        try await expectEqual(copy, store)
        #expect(copy.conversations.count == 2 && copy.messages.count == 4 && copy.profile?.version == 1)
        let quiet = try await copy.sync.changes(caller, copy.token, 10)
        #expect(quiet.items.isEmpty && !quiet.position.hasMore && quiet.position.next == copy.token)

        _ = try await profiles.edit(caller, .init(fields: [.goals: ["b"]], expectedVersions: [1]))
        try await store.turns().talk(caller, "More", in: second, status: .failed)
        _ = try await store.conversations.delete(caller, first, nil)
        let changed = try await copy.sync.changes(caller, copy.token, 10)
        #expect(changed.items.count == 4, "profile, failed message, its conversation, tombstone: \(changed.items)")
        try await copy.synchronise()
        try await expectEqual(copy, store)
        #expect(copy.resets == 0)
    }

    @Test("a first list of several pages ends after a row was removed, and begins anew when one is removed meanwhile")
    func removedRows() async throws {
        let store = try await StoreFixture()
        let caller = Caller.someone()
        let conversations = [
            try await store.turns().talk(caller, "One").conversationID, try await store.turns().talk(caller, "Two").conversationID,
            try await store.turns().talk(caller, "Three").conversationID,
        ]
        let remove = { (id: ConversationID) in _ = try await store.admin.execute("delete from public.conversations where id = \(id)") }
        try await remove(conversations[0])
        var copy = OfflineCopy(store, caller)
        try await copy.synchronise(limit: 1)
        try await expectEqual(copy, store)
        #expect(copy.conversations.count == 2 && copy.resets == 0)

        let first = try await copy.sync.changes(caller, nil, 1)
        #expect(first.position.hasMore)
        try await remove(conversations[1])
        let second = try await copy.sync.changes(caller, first.position.next, 1)
        #expect(second.position.isReset)
        try await copy.synchronise(limit: 1)
        try await expectEqual(copy, store)
    }

    /// COACH_TEST_CHANGES=5000: ten thousand changes by two writers, for an occasional run.
    private static let changes = ProcessInfo.processInfo.environment["COACH_TEST_CHANGES"].flatMap { Int($0) } ?? 500

    @Test("brings personas: own drafts, listed and redeemed ones, and takes away what the user may not use any more")
    func personas() async throws {
        let store = try await StoreFixture()
        let (caller, creator) = (Caller.someone(role: .creator), Caller.someone(role: .creator))
        for user in [caller, creator] { _ = try await store.requests().take(user) }
        let (personas, sharing) = (store.personas(), PersonaSharing.postgres(client: store.gateway))
        let own = try await personas.create(caller, .random(), try .named("Own")).id
        let listed = try await store.persona(of: creator.userID)
        let linked = try await store.persona(visibility: "link", of: creator.userID)
        _ = try await store.persona(status: "draft", of: creator.userID)
        var copy = OfflineCopy(store, caller)
        try await copy.synchronise(limit: 1)
        try await expectEqual(copy, store)
        #expect(Array(copy.ownPersonas.keys) == [own] && Array(copy.personas.keys) == [listed])

        let link = try await sharing.create(creator, linked, .random(), ShareLinkDraft())
        _ = try await sharing.redeem(caller, link.token)
        _ = try await personas.put(creator, linked, try .named("New"), nil)
        _ = try await personas.publish(creator, linked, nil)
        try await copy.synchronise(limit: 2)
        try await expectEqual(copy, store)
        #expect(copy.personas[linked]?.content["name"] == "New")
        let quiet = try await copy.sync.changes(caller, copy.token, 10)
        #expect(quiet.items.isEmpty && !quiet.position.hasMore && quiet.position.next == copy.token)

        try await personas.delete(caller, own)
        try await personas.unpublish(creator, listed)
        try await store.admin.execute("delete from public.coaching_personas where id = \(linked.uuid)")
        try await copy.synchronise(limit: 2)
        try await expectEqual(copy, store)
        #expect(copy.ownPersonas.isEmpty && copy.personas.isEmpty && copy.resets == 0)
        // What was never open to a user is not even named.
        let stranger = try await copy.sync.changes(.someone(), nil, 100).items
        #expect(!stranger.contains(.personaRemoved(linked)) && stranger.contains(.personaRemoved(listed)))
    }

    @Test("after random changes by two writers with delayed commits the copy equals the database", .timeLimit(.minutes(10)))
    func random() async throws {
        let store = try await StoreFixture()
        let (caller, creator) = (Caller.someone(role: .creator), Caller.someone(role: .creator))
        for user in [caller, creator] { _ = try await store.requests().take(user) }
        var ids: [ConversationID] = []
        for number in 0..<5 { ids.append(try await store.turns().talk(caller, "\(number)").conversationID) }
        let conversations = ids
        let isDone = Mutex(false)
        var copy = OfflineCopy(store, caller)
        let pages = copy.pages
        let writers = Task {
            defer { isDone.withLock { $0 = true } }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for seed in 0..<2 {
                    group.addTask {
                        try await Self.write(Self.changes, seed: UInt64(seed), conversations, caller, creator, store, pages)
                    }
                }
                try await group.waitForAll()
            }
        }
        while !isDone.withLock({ $0 }) { try await copy.synchronise(limit: 7) }
        try await writers.value
        try await copy.synchronise()
        #expect(copy.resets == 0)
        try await expectEqual(copy, store)
    }

    /// Random edits; one in fifty is committed after a page that was read meanwhile (the reader waits behind the other
    /// writer, who waits for the lock: most of a second).
    private static func write(
        _ count: Int, seed: UInt64, _ conversations: [ConversationID], _ caller: Caller, _ creator: Caller,
        _ store: StoreFixture, _ pages: PageCounter
    ) async throws {
        var random = SeededGenerator(state: seed)
        let profiles = ContextProfileRepository.postgres(client: store.gateway)
        // Own ones and another creator's.
        var personas: [(owner: Caller, id: PersonaID)] = []
        for owner in [caller, creator] {
            for _ in 0..<3 { personas.append((owner, try await store.personas().create(owner, .random(), try .named("P")).id)) }
        }
        for number in 0..<count {
            let conversation = conversations[Int.random(in: 0..<conversations.count, using: &random)]
            switch Int.random(in: 0..<100, using: &random) {
            case 0..<2:
                try await store.admin.withTransaction { lease in
                    try await lease.execute("select set_config('request.jwt.claim.sub', \(caller.userID.description), true)")
                    try await lease.execute(
                        """
                        update public.conversations set title = \("\(seed) \(number)")
                        where user_id = \(caller.userID.uuid) and id = \(conversation.uuid)
                        """)
                    let begun = pages.count
                    try await eventually { pages.count > begun + 1 }
                }
            case 2..<12: _ = try await profiles.edit(caller, .init(fields: [.goals: [.string("\(seed) \(number)")]], expectedVersions: nil))
            case 12..<22: _ = try await store.conversations.create(caller, title: "\(seed) \(number)")
            case 62..<85: try await turn(in: conversation, "\(seed) \(number)", caller, store, &random)
            case 32..<62:
                let persona = personas[Int.random(in: 0..<personas.count, using: &random)]
                try await change(persona.id, of: persona.owner, as: "\(seed) \(number)", caller, store, &random)
            case 22..<32:
                let page = try await store.conversations.list(caller, limit: 1)
                if let newest = page.items.first, !conversations.contains(newest.id) {
                    // The other writer may have deleted it.
                    _ = try? await store.conversations.delete(caller, newest.id, nil)
                }
            default:
                _ = try await store.conversations.patch(caller, conversation, .init(title: "\(seed) \(number)"))
            }
        }
    }

    /// A turn with a random end, and sometimes another one on its message. The other writer's turn may be running in the conversation.
    static func turn(
        in conversation: ConversationID, _ message: String, _ caller: Caller, _ store: StoreFixture, _ random: inout SeededGenerator
    ) async throws {
        let turns = store.turns()
        guard
            case .begun(var context, _) = try await turns.begin(
                caller, TurnRequest(message: message, conversationID: conversation), risk: .calm)
        else { return }
        while true {
            try await turns.finish(receipt(context.identity, caller, &random))
            guard Int.random(in: 0..<3, using: &random) == 0,
                case .begun(let again, _, _) = try await turns.retry(caller, context.identity.turnID)
            else { return }
            context = again
        }
    }

    /// With text; stopped before any; or failed. The domain is decided at the end.
    private static func receipt(_ identity: TurnIdentity, _ caller: Caller, _ random: inout SeededGenerator) -> TurnReceipt {
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
    private static func change(
        _ id: PersonaID, of owner: Caller, as name: String, _ caller: Caller, _ store: StoreFixture, _ random: inout SeededGenerator
    ) async throws {
        let (personas, sharing) = (store.personas(), PersonaSharing.postgres(client: store.gateway))
        switch Int.random(in: 0..<6, using: &random) {
        case 0, 1: _ = try await personas.put(owner, id, try .named("P \(name)"), nil)
        case 2: _ = try await personas.publish(owner, id, .listed)
        case 3: _ = try await personas.publish(owner, id, .link)
        // Draft persons were never published.
        case 4: try? await personas.unpublish(owner, id)
        default:
            let link = try await sharing.create(owner, id, .random(), ShareLinkDraft())
            _ = try? await sharing.redeem(caller, link.token)
            try await sharing.revoke(owner, id, link.id)
        }
    }

    @Test("many changes with one number, and pages without a visible change, neither repeat nor end the synchronisation")
    func bulk() async throws {
        let store = try await StoreFixture()
        let caller = Caller.someone()
        let (first, second) = (
            try await store.turns().talk(caller, "One").conversationID, try await store.turns().talk(caller, "Two").conversationID
        )
        for (conversation, change) in [(first, 3), (second, 4)] {
            try await store.admin.execute(
                """
                insert into public.messages (user_id, conversation_id, seq, role, content, token_count, change)
                select \(caller.userID.uuid), \(conversation.uuid), 2 + n, 'user', 'many', 1, \(change) from generate_series(1, 40) n
                """)
        }
        var copy = OfflineCopy(store, caller)
        try await copy.synchronise(limit: 5)
        try await expectEqual(copy, store)
        // Nothing of it is visible, until the tombstone.
        _ = try await store.conversations.delete(caller, first, nil)
        copy = OfflineCopy(store, caller)
        try await copy.synchronise(limit: 1)
        try await expectEqual(copy, store)
        #expect(copy.resets == 0)
    }

    @Test("no question is lost that moves behind a page because its turn ends later, from the beginning and from a token between")
    func laterEnds() async throws {
        let store = try await StoreFixture()
        let (caller, turns) = (Caller.someone(), store.turns(TierBook.free(concurrentTurns: 8)))
        var running: [TurnIdentity] = []
        for number in 1...8 {
            running.append(try await turns.begin(caller, TurnRequest(message: "\(number)"), risk: .calm).begun.identity)
        }
        var between = OfflineCopy(store, caller)
        try await between.synchronise(limit: 1)
        for turn in running.reversed() { try await turns.finish(.complete(turn, of: caller, domain: .fitness)) }
        for limit in [1, 2, 5] {
            var whole = OfflineCopy(store, caller)
            try await whole.synchronise(limit: limit)
            try await expectEqual(whole, store)
        }
        try await between.synchronise(limit: 1)
        try await expectEqual(between, store)
        #expect(between.messages.count == 16 && between.resets == 0)
    }

    @Test("a message comes again when the domain of its turn is decided, also when the turn ends without an answer")
    func decidedDomain() async throws {
        let store = try await StoreFixture()
        let caller = Caller.someone()
        for status in [TurnStatus.complete, .stopped, .failed] {
            let begun = try await store.turns().begin(caller, TurnRequest(message: "Hi"), risk: .calm).begun.identity
            var copy = OfflineCopy(store, caller)
            try await copy.synchronise()
            #expect(copy.messages[begun.userMessageID]?.domain == nil)
            var receipt = TurnReceipt.complete(begun, of: caller, status == .complete ? "Good." : "", domain: .fitness)
            receipt.status = status
            try await store.turns().finish(receipt)
            try await copy.synchronise()
            #expect(copy.messages[begun.userMessageID]?.domain == .fitness, "\(status)")
            try await expectEqual(copy, store)
        }
    }

    @Test("an expired token returns everything again, and a malformed one is rejected")
    func reset() async throws {
        let store = try await StoreFixture()
        let caller = Caller.someone()
        try await store.turns().talk(caller, "One")
        var copy = OfflineCopy(store, caller)
        try await copy.synchronise()
        let foreign = "\(UUID().uuidString.lowercased())_1.0"
        let page = try await copy.sync.changes(caller, foreign, 10)
        #expect(page.position.isReset && page.items.count == 3)
        for text in ["", "x", "1_2_3", "\(foreign).x", String(foreign.dropLast(2))] {
            await #expect(throws: InvalidChangeToken(.since)) { try await copy.sync.changes(caller, text, 10) }
        }
    }
}
