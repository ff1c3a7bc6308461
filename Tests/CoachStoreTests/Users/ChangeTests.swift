import CoachCore
import CoachStore
import Foundation
import PostgresClient
import Synchronization
import Testing

/// A client that keeps a copy of a user's conversations and messages and requests only changes.
private struct Copy {
    let store: StoreFixture
    let caller: Caller
    var conversations: [ConversationID: ConversationRecord] = [:]
    var messages: [MessageID: MessageRecord] = [:]
    var listToken: String?
    var messageToken: String?
    var resets = 0

    /// Requests changes until there are no more, in small pages, so that some end between rows of one transaction.
    mutating func synchronise(messagesOf conversation: ConversationID) async throws {
        while true {
            let page = try await store.conversations.list(caller, limit: 2, updatedSince: listToken)
            if page.position?.isReset == true {
                conversations = [:]
                resets += 1
            }
            for record in page.items { conversations[record.id] = record }
            listToken = page.position?.next
            if page.position?.hasMore != true { break }
        }
        while true {
            let page = try await store.conversations.messages(caller, conversation, limit: 3, updatedSince: messageToken)
            if page.position?.isReset == true {
                messages = [:]
                resets += 1
            }
            for record in page.items { messages[record.id] = record }
            messageToken = page.position?.next
            if page.position?.hasMore != true { break }
        }
    }
}

@Suite("Changes since a token")
struct ChangeTests {
    @Test("no change of writers with delayed commits is lost: the copy of a polling client equals the database")
    func delayedCommits() async throws {
        let store = try await StoreFixture.shared()
        let caller = Caller.someone()
        let conversation = try await store.turns().talk(caller, "Hello").conversationID
        var copy = Copy(store: store, caller: caller)
        try await copy.synchronise(messagesOf: conversation)
        try await store.admin.execute(
            "insert into public.conversations (user_id, title) select \(caller.userID.uuid), n::text from generate_series(1, 5) n")

        let isDone = Flag()
        let writers = Task {
            defer { isDone.set() }
            try await withThrowingTaskGroup(of: Void.self) { group in
                // Edits whose transactions stay open for a while after writing.
                for writer in 0..<2 {
                    group.addTask {
                        for round in 0..<15 {
                            try await store.admin.withTransaction { lease in
                                try await lease.execute(
                                    "select set_config('request.jwt.claims', \(caller.claims), true), set_config('role', 'authenticated', true)"
                                )
                                try await lease.execute(
                                    """
                                    update public.conversations set title = \("w\(writer) r\(round)")
                                    where user_id = \(caller.userID.uuid) and title is distinct from 'x' and random() < 0.5
                                    """)
                                try await lease.execute("select pg_sleep(random() * 0.02)")
                            }
                        }
                    }
                }
                group.addTask {
                    for round in 0..<10 { try await store.turns().talk(caller, "q\(round)", in: conversation, answer: "a\(round)") }
                }
                try await group.waitForAll()
            }
        }
        while !isDone.isSet { try await copy.synchronise(messagesOf: conversation) }
        try await writers.value
        try await copy.synchronise(messagesOf: conversation)

        let listed = try await store.conversations.list(caller, limit: 100).items
        #expect(copy.conversations == Dictionary(uniqueKeysWithValues: listed.map { ($0.id, $0) }))
        let said = try await store.conversations.messages(caller, conversation, limit: 100).items
        #expect(said.count == 22 && copy.messages == Dictionary(uniqueKeysWithValues: said.map { ($0.id, $0) }))
        #expect(copy.resets == 0)
    }

    @Test("a row written before another commit and committed after it is returned for the token in between")
    func overtaken() async throws {
        let store = try await StoreFixture.shared()
        let caller = Caller.someone()
        _ = try await store.requests().take(caller)
        let first = try await store.conversations.create(caller, title: "a", domain: nil, personaID: nil).id
        let second = try await store.conversations.create(caller, title: "b", domain: nil, personaID: nil).id
        let token = try #require(try await store.conversations.list(caller, limit: 9).position?.next)
        let quick = try await store.admin.withTransaction { lease in
            try await lease.execute("update public.conversations set title = 'slow' where id = \(first.uuid)")
            // Another writer of the same user waits for its number until this one commits.
            let quick = Task {
                try await store.postgrest(caller, "update public.conversations set title = 'quick' where id = \(second.uuid)")
            }
            let waits: Query = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
            while try await store.count(waits) == 0 { await Task.yield() }
            #expect(try await store.conversations.list(caller, limit: 9, updatedSince: token).items.isEmpty)
            return quick
        }
        _ = try await quick.value
        let changed = try await store.conversations.list(caller, limit: 9, updatedSince: token)
        #expect(changed.items.map(\.title) == ["slow", "quick"] && changed.position?.hasMore == false)
        let next = try #require(changed.position?.next)
        #expect(try await store.conversations.list(caller, limit: 9, updatedSince: next).items.isEmpty)
    }

    @Test("a token of another or restored database, or from before a row was removed, returns the complete list")
    func reset() async throws {
        let store = try await StoreFixture.shared()
        let caller = Caller.someone()
        let turn = try await store.turns().talk(caller, "Hello")
        try await store.turns().talk(caller, "Elsewhere")
        let page = try await store.conversations.list(caller, limit: 1)
        let token = try #require(page.position?.next)
        let parts = token.split(separator: "_")
        for foreign in ["\(UUID().uuidString.lowercased())_\(parts[1])", "\(parts[0])_zzzzzz"] {
            let answer = try await store.conversations.list(caller, limit: 1, updatedSince: foreign)
            #expect(answer.items == page.items && answer.nextCursor == page.nextCursor)
            #expect(answer.position == SyncPosition(next: token, isReset: true))
            let messages = try await store.conversations.messages(caller, turn.conversationID, limit: 9, updatedSince: foreign)
            #expect(messages.items.count == 2 && messages.position?.isReset == true)
        }
        try await store.admin.execute("delete from public.conversations where id = \(turn.conversationID.uuid)")
        let answer = try await store.conversations.list(caller, limit: 9, updatedSince: token)
        #expect(answer.position?.isReset == true && answer.items.count == 1)
    }

    @Test("a malformed token is rejected", arguments: ["", "2026-01-01T00:00:00Z", "x_1", "0_0_0", "1_2_3_4"])
    func invalid(text: String) async throws {
        let store = try await StoreFixture.shared()
        let caller = Caller.someone()
        let conversation = try await store.turns().talk(caller, "Hello").conversationID
        await #expect(throws: InvalidChangeToken()) { try await store.conversations.list(caller, limit: 9, updatedSince: text) }
        await #expect(throws: InvalidChangeToken()) {
            try await store.conversations.messages(caller, conversation, limit: 9, updatedSince: text)
        }
        await #expect(throws: Rejection(reason: .notFound)) {
            try await store.conversations.messages(
                caller, .random(), limit: 9, updatedSince: "\(UUID().uuidString.lowercased())_0")
        }
    }
}

private final class Flag: Sendable {
    private let state = Mutex(false)
    var isSet: Bool { state.withLock { $0 } }
    func set() { state.withLock { $0 = true } }
}
