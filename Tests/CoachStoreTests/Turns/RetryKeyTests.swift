import CoachCore
import CoachStore
import PostgresClient
import Testing

@Suite("Idempotency keys of retries")
struct RetryKeyTests {
    @Test("a repeated request whose turn was retried gets the answer of the retry, or the old one while it has none")
    func key() async throws {
        let store = try await StoreFixture.shared()
        let (turns, caller) = (store.turns(), Caller.someone())
        let request = TurnRequest(message: "One?", idempotencyKey: "k")
        let first = try await turns.begin(caller, request, risk: .calm).begun.identity
        try await turns.finish(.complete(first, of: caller, "Old"))
        let second = try await turns.retry(caller, first.turnID).begun.identity
        #expect(try await turns.begin(caller, request, risk: .calm).known.identity == second)
        try await turns.finish(.failed(second, of: caller))
        #expect(try await turns.begin(caller, request, risk: .calm).known.content == "Old")
        #expect(try await turns.repeated(caller, request)?.known.content == "Old")
        let third = try await turns.retry(caller, second.turnID).begun.identity
        var stopped = TurnReceipt.complete(third, of: caller, "")
        (stopped.status, stopped.finishReason) = (.stopped, .stopped)
        try await turns.finish(stopped)
        #expect(try await turns.begin(caller, request, risk: .calm).known.content == "Old")
        let fourth = try await turns.retry(caller, third.turnID).begun.identity
        try await turns.finish(.complete(fourth, of: caller, "New"))
        #expect(try await turns.begin(caller, request, risk: .calm).known.content == "New")
    }

    @Test("a repeated request none of whose turns has an answer begins the next attempt of the latest")
    func noAnswer() async throws {
        let store = try await StoreFixture.shared()
        let (turns, caller) = (store.turns(), Caller.someone())
        let request = TurnRequest(message: "One?", idempotencyKey: "k")
        let first = try await turns.begin(caller, request, risk: .calm).begun.identity
        try await turns.finish(.failed(first, of: caller))
        let second = try await turns.retry(caller, first.turnID).begun.identity
        try await turns.finish(.failed(second, of: caller))
        let again = try await turns.begin(caller, request, risk: .calm).begun.identity
        #expect(again.turnID == second.turnID && again.attempt == 2)
    }

    @Test("a failed turn that was removed is not found by its key, neither of the message nor of a retry")
    func removed() async throws {
        let store = try await StoreFixture.shared()
        let (turns, caller) = (store.turns(), Caller.someone())
        let request = TurnRequest(message: "One?", idempotencyKey: "k")
        let first = try await turns.begin(caller, request, risk: .calm).begun.identity
        try await turns.finish(.failed(first, of: caller))
        let second = try await turns.retry(caller, first.turnID, key: "retry").begun.identity
        try await turns.finish(.failed(second, of: caller))
        try await store.admin.execute("update public.turns set deleted_at = now() where user_id = \(caller.userID.uuid)")
        #expect(try await turns.begin(caller, request, risk: .calm).rejection.reason == .notFound)
        #expect(try await turns.repeated(caller, request)?.rejection.reason == .notFound)
        #expect(try await turns.retry(caller, first.turnID, key: "retry").rejection.reason == .notFound)
    }

    @Test("a retry with the key of an earlier one gets its turn, while it runs and afterwards, or begins the next attempt when it failed")
    func repeatedRetry() async throws {
        let store = try await StoreFixture.shared()
        let (turns, caller) = (store.turns(), Caller.someone())
        let request = TurnRequest(message: "One?", idempotencyKey: "message")
        let first = try await turns.begin(caller, request, risk: .danger(.concern)).begun.identity
        try await turns.finish(.complete(first, of: caller, "Old", risk: .danger(.concern)))
        let second = try await turns.retry(caller, first.turnID, key: "retry").begun.identity
        #expect(try await turns.retry(caller, first.turnID, key: "retry").known.identity == second)
        try await turns.finish(.failed(second, of: caller))
        #expect(try await turns.repository.repeatedRetry(caller, RetryRequest(of: first.turnID, idempotencyKey: "retry")) == nil)

        let begun = try await turns.retry(caller, first.turnID, key: "retry")
        let context = try begun.begun
        #expect(try begun.message == "One?" && context.identity.turnID == second.turnID && context.identity.attempt == 2)
        try await turns.finish(.complete(context.identity, of: caller, "New"))
        let third = try await turns.retry(caller, second.turnID).begun.identity
        try await turns.finish(.complete(third, of: caller, "Newer"))
        // Its own answer, which is superseded; the message's key has the latest one.
        #expect(try await turns.retry(caller, first.turnID, key: "retry").known.content == "New")
        let closed = try #require(try await turns.repository.repeatedRetry(caller, RetryRequest(of: first.turnID, idempotencyKey: "retry")))
        #expect(try closed.known.content == "New")
        #expect(try await turns.begin(caller, request, risk: .calm).known.content == "Newer")
        #expect(try await turns.repeated(caller, request)?.known.content == "Newer")
        #expect(try await store.count("select count(*) from public.model_calls where user_id = \(caller.userID.uuid)") == 3)
    }

    @Test("a key of a retry is one of the user's keys: another request with it is a mismatch, and another user's is theirs")
    func keyOfAnother() async throws {
        let store = try await StoreFixture.shared()
        let (turns, caller) = (store.turns(), Caller.someone())
        let request = TurnRequest(message: "One?", idempotencyKey: "message")
        let first = try await turns.begin(caller, request, risk: .calm).begun.identity
        try await turns.finish(.complete(first, of: caller))
        #expect(try await turns.retry(caller, first.turnID, key: "message").rejection.reason == .idempotencyMismatch)
        let second = try await turns.retry(caller, first.turnID, key: "retry").begun.identity
        try await turns.finish(.complete(second, of: caller))
        #expect(try await turns.retry(caller, second.turnID, key: "retry").rejection.reason == .idempotencyMismatch)
        let closed = try #require(
            try await turns.repository.repeatedRetry(caller, RetryRequest(of: second.turnID, idempotencyKey: "retry")))
        #expect(try closed.rejection.reason == .idempotencyMismatch)
        let message = TurnRequest(message: "Two?", idempotencyKey: "retry")
        #expect(try await turns.begin(caller, message, risk: .calm).rejection.reason == .idempotencyMismatch)
        let other = Caller.someone()
        let theirs = try await turns.talk(other, "One?")
        _ = try await turns.retry(other, theirs.turnID, key: "retry").begun
        #expect(try await turns.retry(other, first.turnID, key: "mine").rejection.reason == .notFound)
    }

    @Test("twenty concurrent retries with one key begin one turn, which all of them get")
    func raceWithKey() async throws {
        let store = try await StoreFixture.shared()
        let (turns, caller) = (store.turns(), Caller.someone())
        let first = try await turns.talk(caller, "One?")
        let openings = try await withThrowingTaskGroup(of: BeginTurnResult.self) { group in
            for _ in 0..<20 { group.addTask { try await turns.retry(caller, first.turnID, key: "k") } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        let begun = openings.compactMap { try? $0.begun.identity }
        #expect(begun.count == 1)
        #expect(openings.compactMap { try? $0.known.identity } == Array(repeating: begun.first, count: 19).compactMap(\.self))
    }
}
