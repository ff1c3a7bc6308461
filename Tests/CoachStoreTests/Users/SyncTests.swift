import CoachCore
import CoachStore
import Foundation
import Synchronization
import Testing

@Suite("SyncRepository")
struct SyncTests {
    /// For tests without personas: those of other tests would be among the changes.
    private static let shared = Task { try await StoreFixture() }

    @Test("returns profile, conversations and messages in pages, then only changes and tombstones")
    func pages() async throws {
        let store = try await Self.shared.value
        let (caller, other) = (Caller.someone(), Caller.someone())
        let first = try await store.turns().talk(caller, "One").conversationID
        let second = try await store.turns().talk(caller, "Two").conversationID
        try await store.turns().talk(other, "Not yours")
        let profiles = ContextProfileRepository.postgres(client: store.gateway)
        _ = try await profiles.edit(caller, .init(fields: [.goals: ["a"]], expectedVersions: [0]))
        var copy = OfflineCopy(store, caller)
        try await copy.synchronise(limit: 2)
        try await copy.expectEqual(store)
        #expect(copy.conversations.count == 2 && copy.messages.count == 4 && copy.profile?.version == 1)
        let quiet = try await copy.sync.changes(caller, copy.token, 10)
        #expect(quiet.items.isEmpty && !quiet.position.hasMore && quiet.position.next == copy.token)
        for number in 1...5 { try await store.turns().talk(other, "\(number)") }
        #expect(try await copy.sync.changes(other, copy.token, 10).position.isReset, "another user's token misses all that it counts")

        _ = try await profiles.edit(caller, .init(fields: [.goals: ["b"]], expectedVersions: [1]))
        try await store.turns().talk(caller, "More", in: second, status: .failed)
        _ = try await store.conversations.delete(caller, first, nil)
        let changed = try await copy.sync.changes(caller, copy.token, 10)
        #expect(changed.items.count == 4, "profile, failed message, its conversation, tombstone: \(changed.items)")
        try await copy.synchronise()
        try await copy.expectEqual(store)
        #expect(copy.resets == 0)
    }

    @Test("brings conversations of clients of OpenAI's protocols too, and says of each which it is, as the search does of its messages")
    func sources() async throws {
        let store = try await Self.shared.value
        let (caller, turns) = (Caller.someone(), store.turns())
        var ids: [ConversationSource: ConversationID] = [:]
        for source in ConversationSource.listed {
            let turn = try await turns.begin(caller, TurnRequest(message: "canary", source: source), risk: .calm).begun.identity
            try await turns.finish(.complete(turn, of: caller, "Hello."))
            ids[source] = turn.conversationID
        }
        var copy = OfflineCopy(store, caller)
        try await copy.synchronise()
        #expect(copy.conversations.mapValues(\.source) == Dictionary(uniqueKeysWithValues: ids.map { ($1, $0) }))
        #expect(copy.messages.count == 4)
        for (source, id) in ids {
            #expect(try await store.conversations.list(caller, source: source, limit: 10).items.map(\.id) == [id])
            #expect(try await store.conversations.get(caller, id).source == source)
        }
        let found = try await MessageSearch.postgres(client: store.gateway).search(caller, "canary", PageRequest(limit: 10)).items
        #expect(Set(found.map(\.conversationID)) == Set(ids.values) && found.allSatisfy { ids[$0.source] == $0.conversationID })
    }

    @Test("a first list of several pages ends after a row was removed, and begins anew when one is removed meanwhile")
    func removedRows() async throws {
        let store = try await Self.shared.value
        let caller = Caller.someone()
        let conversations = [
            try await store.turns().talk(caller, "One").conversationID, try await store.turns().talk(caller, "Two").conversationID,
            try await store.turns().talk(caller, "Three").conversationID,
        ]
        let remove = { (id: ConversationID) in _ = try await store.admin.execute("delete from public.conversations where id = \(id)") }
        try await remove(conversations[0])
        var copy = OfflineCopy(store, caller)
        try await copy.synchronise(limit: 1)
        try await copy.expectEqual(store)
        #expect(copy.conversations.count == 2 && copy.resets == 0)

        let first = try await copy.sync.changes(caller, nil, 1)
        #expect(first.position.hasMore)
        try await remove(conversations[1])
        let second = try await copy.sync.changes(caller, first.position.next, 1)
        #expect(second.position.isReset)
        try await copy.synchronise(limit: 1)
        try await copy.expectEqual(store)
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
        try await copy.expectEqual(store)
        #expect(Array(copy.ownPersonas.keys) == [own] && Array(copy.personas.keys) == [listed])

        let link = try await sharing.create(creator, linked, .random(), ShareLinkDraft())
        _ = try await sharing.redeem(caller, link.token)
        _ = try await personas.put(creator, linked, try .named("New"), nil)
        _ = try await personas.publish(creator, linked, nil)
        try await copy.synchronise(limit: 2)
        try await copy.expectEqual(store)
        #expect(copy.personas[linked]?.content["name"] == "New")
        let quiet = try await copy.sync.changes(caller, copy.token, 10)
        #expect(quiet.items.isEmpty && !quiet.position.hasMore && quiet.position.next == copy.token)

        try await personas.delete(caller, own)
        try await personas.unpublish(creator, listed)
        try await store.admin.execute("delete from public.coaching_personas where id = \(linked.uuid)")
        try await copy.synchronise(limit: 2)
        try await copy.expectEqual(store)
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
                for seed in 0..<2 as Range<UInt64> {
                    group.addTask {
                        var changes = RandomChanges(store, caller, seed: seed)
                        try await changes.make(Self.changes, conversations, creator, pages)
                    }
                }
                try await group.waitForAll()
            }
        }
        while !isDone.withLock({ $0 }) { try await copy.synchronise(limit: 7) }
        try await writers.value
        try await copy.synchronise()
        #expect(copy.resets == 0)
        try await copy.expectEqual(store)
    }

    @Test("many changes with one number, and pages without a visible change, neither repeat nor end the synchronisation")
    func bulk() async throws {
        let store = try await Self.shared.value
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
        try await copy.expectEqual(store)
        // Nothing of it is visible, until the tombstone.
        _ = try await store.conversations.delete(caller, first, nil)
        copy = OfflineCopy(store, caller)
        try await copy.synchronise(limit: 1)
        try await copy.expectEqual(store)
        #expect(copy.resets == 0)
    }

    @Test("no question is lost that moves behind a page because its turn ends later, from the beginning and from a token between")
    func laterEnds() async throws {
        let store = try await Self.shared.value
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
            try await whole.expectEqual(store)
        }
        try await between.synchronise(limit: 1)
        try await between.expectEqual(store)
        #expect(between.messages.count == 16 && between.resets == 0)
    }

    @Test("a message comes again when the domain of its turn is decided, also when the turn ends without an answer")
    func decidedDomain() async throws {
        let store = try await Self.shared.value
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
            try await copy.expectEqual(store)
        }
    }

    @Test("an expired token returns everything again, and a malformed one is rejected")
    func reset() async throws {
        let store = try await Self.shared.value
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
