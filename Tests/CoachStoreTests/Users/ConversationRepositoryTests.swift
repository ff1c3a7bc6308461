import CoachCore
import CoachStore
import Foundation
import PostgresClient
import Testing

@Suite("A user's conversations")
struct ConversationRepositoryTests {
    private func newcomer(_ store: StoreFixture) async throws -> Caller {
        let caller = Caller.someone()
        _ = try await store.requests().take(caller)
        return caller
    }

    @Test("create, read, rename, list and delete")
    func peer() async throws {
        let store = try await StoreFixture.shared()
        let (caller, conversations) = (try await newcomer(store), store.conversations)
        let made = try await conversations.create(caller, title: "Work", domain: .leadership, personaID: nil)
        #expect(made.title == "Work" && made.domain == .leadership && made.deletedAt == nil)
        #expect(abs(made.createdAt.timeIntervalSinceNow) < 60)
        #expect(try await conversations.get(caller, made.id) == made)

        let renamed = try await conversations.patch(caller, made.id, .init(title: "Team", domain: .some(nil)))
        #expect(renamed.title == "Team" && renamed.domain == nil && renamed.updatedAt > made.updatedAt)
        #expect(try await conversations.patch(caller, made.id, .init()) == renamed)
        let listed = try await conversations.list(caller, limit: 20)
        #expect(listed.items == [renamed] && listed.nextCursor == nil)
        let before = try #require(listed.position?.next)

        #expect(try await conversations.delete(caller, made.id, nil) == nil)
        #expect(try await conversations.list(caller, limit: 20).items.isEmpty)
        let tombstones = try await conversations.list(caller, limit: 20, updatedSince: before)
        #expect(tombstones.items.map(\.id) == [made.id] && tombstones.items[0].deletedAt != nil)
    }

    @Test("of concurrent creations with one id, on two instances, each answers the one conversation; another user's with it is another")
    func chosenID() async throws {
        let store = try await StoreFixture.shared()
        let (caller, other) = (try await newcomer(store), try await newcomer(store))
        let another = try store.anotherGateway()
        let instances = [store.conversations, ConversationRepository.postgres(client: another)]
        let draft = ConversationDraft(title: "Offline")
        let made = try await withThrowingTaskGroup(of: ConversationRecord.self) { group in
            for number in 0..<8 { group.addTask { try await instances[number % 2].create(caller, draft) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(made.count == 8 && made.allSatisfy { $0 == made[0] && $0.id == draft.id })
        #expect(try await store.conversations.create(other, ConversationDraft(id: draft.id, title: "Mine")).title == "Mine")
        #expect(try await store.conversations.list(caller, limit: 9).items == [made[0]])

        #expect(try await store.conversations.delete(caller, draft.id, nil) == nil)
        await #expect(throws: Rejection(reason: .notFound)) { try await store.conversations.create(caller, draft) }
        #expect(try await store.conversations.get(other, draft.id).title == "Mine")
        await another.shutdown(grace: .zero)
    }

    @Test("a deleted conversation cannot be restored behind PostgREST: phones that synchronise have dropped its messages")
    func stayingDeleted() async throws {
        let store = try await StoreFixture.shared()
        let (caller, conversations) = (try await newcomer(store), store.conversations)
        let made = try await conversations.create(caller, title: "Work", domain: nil, personaID: nil)
        let renaming: Query = "update public.conversations set title = 'x' where user_id = \(caller.userID.uuid) and id = \(made.id.uuid)"
        #expect(try await store.postgrest(caller, renaming) == 1)
        #expect(try await conversations.delete(caller, made.id, nil) == nil)
        let restoring: Query = """
            update public.conversations set deleted_at = null where user_id = \(caller.userID.uuid) and id = \(made.id.uuid)
            """
        #expect(try await store.postgrest(caller, restoring) == 0)
        await #expect(throws: Rejection(reason: .notFound)) { try await conversations.get(caller, made.id) }
    }

    @Test("behind PostgREST users delete now, whatever time they write")
    func deletionTime() async throws {
        let store = try await StoreFixture.shared()
        let (caller, conversations) = (try await newcomer(store), store.conversations)
        _ = try await conversations.create(caller, title: "Work", domain: nil, personaID: nil)
        let deleting: Query = "update public.conversations set deleted_at = 'infinity' where user_id = \(caller.userID.uuid)"
        #expect(try await store.postgrest(caller, deleting) == 1)
        let found: Query = """
            select count(*) from public.conversations
            where user_id = \(caller.userID.uuid) and deleted_at between now() - interval '1 minute' and now()
            """
        #expect(try await store.count(found) == 1)
    }

    @Test("behind PostgREST a row for somebody else is refused alike, whether they exist or not")
    func foreignRows() async throws {
        let store = try await StoreFixture.shared()
        let (caller, other) = (try await newcomer(store), try await newcomer(store))
        for user in [other.userID.uuid, UUID()] {
            for row in [
                "insert into public.conversations (user_id, title) values (\(user), 'x')",
                "insert into public.context_profiles (user_id) values (\(user))",
                "insert into public.push_tokens (user_id, token, platform, environment) values (\(user), 'x', 'ios', 'production')",
            ] as [Query] {
                let error = await #expect(throws: PostgresError.self) { try await store.postgrest(caller, row) }
                #expect(error?.sqlState == "42501", "\(error.map { "\($0)" } ?? "")")
            }
        }
    }

    @Test("a deletion requests the stop of the running turn, also of an earlier message's, and behind PostgREST")
    func stopsTurn() async throws {
        let store = try await StoreFixture.shared()
        let (turns, caller, conversations) = (store.turns(), Caller.someone(), store.conversations)
        func stopping() async throws -> Int {
            try await store.count(
                "select count(*) from gateway.running_turns where user_id = \(caller.userID.uuid) and stop_requested_at is not null")
        }
        var request = TurnRequest(message: "One?")
        request.idempotencyKey = "one"
        let first = try await turns.begin(caller, request, risk: .calm).begun.identity
        try await turns.finish(.failed(first, of: caller))
        try await turns.talk(caller, "Two?", in: first.conversationID, answer: "2")
        request.conversationID = first.conversationID
        #expect(try await turns.begin(caller, request, risk: .calm).begun.identity.attempt == 2)
        #expect(try await stopping() == 0)
        #expect(try await conversations.delete(caller, first.conversationID, nil) == nil, "it is not the latest message's")
        #expect(try await stopping() == 1)

        let other = try await turns.begin(caller, TurnRequest(message: "Three?"), risk: .calm).begun.identity
        let deleting: Query = "update public.conversations set deleted_at = now() where id = \(other.conversationID.uuid)"
        #expect(try await store.postgrest(caller, deleting) == 1)
        #expect(try await stopping() == 2)
    }

    @Test("a change that expects another version is stale and has no effect; of two that expect the same one succeeds")
    func versions() async throws {
        let store = try await StoreFixture.shared()
        let (caller, conversations) = (try await newcomer(store), store.conversations)
        let made = try await conversations.create(caller, title: "One", domain: nil, personaID: nil)
        let renamed = try await conversations.patch(caller, made.id, .init(title: "Two", expectedVersions: [made.version]))
        #expect(renamed.version > made.version)
        for patch in [
            ConversationPatch(title: "Three", expectedVersions: [made.version]), .init(expectedVersions: []),
            .init(expectedVersions: [made.version]),
        ] {
            await #expect(throws: StaleVersion()) { try await conversations.patch(caller, made.id, patch) }
        }
        await #expect(throws: StaleVersion()) { try await conversations.delete(caller, made.id, [made.version]) }
        #expect(try await conversations.get(caller, made.id) == renamed)
        await #expect(throws: Rejection(reason: .notFound)) {
            try await conversations.patch(caller, .random(), .init(title: "x", expectedVersions: [1]))
        }
        await #expect(throws: Rejection(reason: .notFound)) { try await conversations.delete(caller, .random(), [1]) }
        let outcomes = await withTaskGroup(of: Bool.self) { group in
            for number in 0..<5 {
                group.addTask {
                    let patch = ConversationPatch(title: "\(number)", expectedVersions: [renamed.version])
                    return (try? await conversations.patch(caller, made.id, patch)) != nil
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(outcomes.count { $0 } == 1)
        // A turn changes the version, too.
        let before = try await conversations.get(caller, made.id).version
        try await store.turns().talk(caller, "Hello", in: made.id)
        #expect(try await conversations.get(caller, made.id).version > before)
    }

    @Test("a repeated creation with the same id returns the first; another user may use the same id")
    func sameID() async throws {
        let store = try await StoreFixture.shared()
        let (caller, other, conversations) = (try await newcomer(store), try await newcomer(store), store.conversations)
        let id = ConversationID.random()
        let made = try await conversations.create(caller, ConversationDraft(id: id, title: "One"))
        #expect(made.id == id)
        #expect(try await conversations.create(caller, ConversationDraft(id: id, title: "Two")) == made)
        #expect(try await conversations.create(other, ConversationDraft(id: id, title: "Three")).title == "Three")
    }

    @Test("a conversation of another user, deleted or unknown is not found by any call")
    func notFound() async throws {
        let store = try await StoreFixture.shared()
        let (owner, stranger, conversations) = (try await newcomer(store), try await newcomer(store), store.conversations)
        let theirs = try await store.turns().talk(owner, "Mine").conversationID
        let deleted = try await conversations.create(stranger, title: nil, domain: nil, personaID: nil).id
        #expect(try await conversations.delete(stranger, deleted, nil) == nil)
        for id in [theirs, deleted, .random()] {
            await #expect(throws: Rejection(reason: .notFound)) { try await conversations.get(stranger, id) }
            await #expect(throws: Rejection(reason: .notFound)) { try await conversations.patch(stranger, id, .init(title: "x")) }
            await #expect(throws: Rejection(reason: .notFound)) { try await conversations.delete(stranger, id, nil) }
            await #expect(throws: Rejection(reason: .notFound)) { try await conversations.messages(stranger, id, limit: 20) }
        }
        #expect(try await conversations.get(owner, theirs).title == "Mine")
    }

    @Test("pages of conversations and messages have every item once, in order")
    func pages() async throws {
        let store = try await StoreFixture.shared()
        let (caller, conversations) = (try await newcomer(store), store.conversations)
        var made: [ConversationID] = []
        for _ in 0..<7 { made.append(try await conversations.create(caller, title: nil, domain: nil, personaID: nil).id) }
        // Equal sort keys must not hide an item.
        try await store.admin.execute("update public.conversations set last_message_at = now() where user_id = \(caller.userID.uuid)")
        let listed = try await collect { try await conversations.list(caller, limit: 3, cursor: $0) }
        #expect(Set(listed.map(\.id)) == Set(made) && listed.count == made.count)

        let conversation = made[0]
        for number in 1...3 { try await store.turns().talk(caller, "q\(number)", in: conversation, answer: "a\(number)") }
        let oldest = try await collect { try await conversations.messages(caller, conversation, limit: 4, cursor: $0) }
        #expect(oldest.map(\.content) == ["q1", "a1", "q2", "a2", "q3", "a3"])
        let newest = try await collect { try await conversations.messages(caller, conversation, .newestFirst, limit: 4, cursor: $0) }
        #expect(newest == oldest.reversed())
        #expect(oldest[5].role == .assistant && oldest[5].status == .complete)
        #expect(oldest[0].domain == .mindset && oldest[0].turnID == oldest[1].turnID)
        #expect(try await conversations.list(caller, limit: 1).items.map(\.id) == [conversation])
    }

    @Test("a conversation without messages has an empty page, and a malformed cursor is rejected")
    func edges() async throws {
        let store = try await StoreFixture.shared()
        let (caller, conversations) = (try await newcomer(store), store.conversations)
        let id = try await conversations.create(caller, title: nil, domain: nil, personaID: nil).id
        let page = try await conversations.messages(caller, id, limit: 20)
        #expect(page.items.isEmpty && page.nextCursor == nil && page.position != nil)
        #expect(try await conversations.messages(caller, id, .newestFirst, limit: 20) == page)
        for cursor in ["", "x", "1_2", "zzzzzzzzzzzzzzzzzzzz_00000000-0000-0000-0000-000000000000"] {
            await #expect(throws: InvalidCursor()) { try await conversations.list(caller, limit: 20, cursor: cursor) }
        }
    }

    @Test("a conversation can be created only with a persona that its owner may see")
    func personas() async throws {
        let store = try await StoreFixture.shared()
        let (caller, conversations) = (try await newcomer(store), store.conversations)
        let open = try await store.persona()
        #expect(try await conversations.create(caller, title: nil, domain: nil, personaID: open).personaID == open)
        for closed in [try await store.persona(status: "draft"), .random()] {
            await #expect(throws: Rejection(reason: .unknownPersona)) {
                try await conversations.create(caller, title: nil, domain: nil, personaID: closed)
            }
        }
    }

    private func collect<Item>(_ page: (String?) async throws -> Page<Item>) async throws -> [Item] {
        var items: [Item] = []
        var cursor: String?
        repeat {
            let next = try await page(cursor)
            items += next.items
            cursor = next.nextCursor
        } while cursor != nil
        return items
    }
}
