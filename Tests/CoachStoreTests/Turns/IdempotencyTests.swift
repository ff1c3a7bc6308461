import CoachCore
import CoachStore
import Foundation
import PostgresClient
import Testing

@Suite("Idempotency of turns")
struct IdempotencyTests {
    private let request = TurnRequest(message: "Once", idempotencyKey: "key-1")

    @Test("a repeated request returns the turn, running or with text and bill, and counts against no limit")
    func replay() async throws {
        let store = try await StoreFixture.shared()
        let (caller, turns) = (Caller.someone(), store.turns())
        let first = try await turns.begin(caller, request, risk: .danger(.concern))
        let identity = try first.begun.identity

        let running = try await turns.begin(caller, request, risk: .danger(.concern))
        #expect(try running.known.status == .running)
        #expect(try running.known.identity == identity)
        #expect(try running.known.content == "" && running.known.bill == nil)
        #expect(running.rate.remaining == first.rate.remaining)

        let receipt = TurnReceipt.complete(identity, of: caller, "Twice is not needed.", risk: .danger(.concern))
        try await turns.finish(receipt)
        let known = try await turns.begin(caller, request, risk: .danger(.concern)).known
        #expect(known.status == .complete && known.finishReason == .stop && known.errorCode == nil)
        #expect(known.content == "Twice is not needed.")
        #expect(known.bill == receipt.bill)
        #expect(known.domain == receipt.domain)
        #expect(known.risk == .danger(.concern))
        #expect(known.userID == caller.userID)
        #expect(try await turns.load(identity.turnID, for: caller) == known)
        #expect(try await turns.load(identity.turnID, for: .someone()) == nil)
        #expect(try await store.count("select count(*) from public.messages where user_id = \(caller.userID.uuid)") == 2)
        #expect(try await store.count("select messages from public.rate_limits where user_id = \(caller.userID.uuid)") == 1)
    }

    @Test("`repeated` returns a known turn without beginning one; not for a new or failed one, or another user's")
    func repeated() async throws {
        let store = try await StoreFixture.shared()
        let (caller, turns) = (Caller.someone(), store.turns())
        #expect(try await turns.repeated(caller, request) == nil)
        let identity = try await turns.begin(caller, request, risk: .calm).begun.identity
        #expect(try await turns.repeated(caller, request)?.known.status == .running)
        #expect(try await turns.repeated(caller, TurnRequest(message: "Once")) == nil)
        #expect(try await turns.repeated(.someone(), request) == nil)
        guard case .rejected(let rejection, _)? = try await turns.repeated(caller, TurnRequest(message: "Twice", idempotencyKey: "key-1"))
        else {
            Issue.record("another body was not rejected")
            return
        }
        #expect(rejection.reason == .idempotencyMismatch)
        try await turns.finish(.complete(identity, of: caller, "Hello."))
        #expect(try await turns.repeated(caller, request)?.known == turns.begin(caller, request, risk: .calm).known)
        #expect(try await store.count("select requests from public.rate_limits where user_id = \(caller.userID.uuid)") == 1)

        let other = Caller.someone()
        try await turns.finish(.failed(try await turns.begin(other, request, risk: .calm).begun.identity, of: other))
        #expect(try await turns.repeated(other, request) == nil)
    }

    @Test("the same key with another message, persona or domain is rejected", arguments: ["message", "persona", "domain", "conversation"])
    func mismatch(field: String) async throws {
        let store = try await StoreFixture.shared()
        let (caller, turns) = (Caller.someone(), store.turns())
        let conversation = try await turns.talk(caller, "Before").conversationID
        var request = request
        request.conversationID = conversation
        _ = try await turns.begin(caller, request, risk: .calm).begun
        switch field {
        case "message": request.message += "!"
        case "persona": request.personaID = .random()
        case "domain": request.pinnedDomain = .fitness
        default: request.conversationID = .random()
        }
        #expect(try await turns.begin(caller, request, risk: .calm).rejection.reason == .idempotencyMismatch)
    }

    @Test(
        "a deleted response keeps its client's key, and not one that was made from a body", arguments: [("key-1", true), ("sdk:0a", false)])
    func deletedResponse(key: String, isKept: Bool) async throws {
        let store = try await StoreFixture.shared()
        let (caller, turns) = (Caller.someone(), store.turns())
        let request = TurnRequest(message: "Once", idempotencyKey: key, source: .openai)
        let first = try await turns.begin(caller, request, risk: .calm).begun.identity
        try await turns.finish(.complete(first, of: caller, "Hello."))
        #expect(try await ResponseRepository.postgres(client: store.gateway).delete(caller, first.turnID))
        let again = try await turns.begin(caller, request, risk: .calm)
        if isKept {
            #expect(try again.rejection.reason == .notFound)
        } else {
            #expect(try again.begun.identity.turnID != first.turnID)
        }
    }

    @Test("requests that differ only in a missing conversation id are the same request")
    func conversationNamedOnce() async throws {
        let store = try await StoreFixture.shared()
        let (caller, turns) = (Caller.someone(), store.turns())
        let identity = try await turns.begin(caller, request, risk: .calm).begun.identity
        var second = request
        second.conversationID = identity.conversationID
        #expect(try await turns.begin(caller, second, risk: .calm).known.identity == identity)
    }

    @Test("keys of different users are independent")
    func perUser() async throws {
        let store = try await StoreFixture.shared()
        let first = try await store.turns().begin(.someone(), request, risk: .calm).begun
        let second = try await store.turns().begin(.someone(), request, risk: .calm).begun
        #expect(first.identity.turnID != second.identity.turnID)
    }

    @Test("a repeated request retries a failed turn: same turn and message, next attempt, counted once")
    func nextAttempt() async throws {
        let store = try await StoreFixture.shared()
        let (caller, turns) = (Caller.someone(), store.turns())
        let first = try await turns.begin(caller, request, risk: .calm).begun.identity
        try await turns.finish(.failed(first, of: caller))
        #expect(try await store.value("select status from public.messages where id = \(first.userMessageID.uuid)") == "failed")

        let second = try await turns.begin(caller, request, risk: .calm).begun
        var expected = first
        expected.attempt = 2
        #expect(second.identity == expected)
        #expect(second.history.isEmpty)
        #expect(try await turns.begin(caller, request, risk: .calm).known.status == .running)
        try await turns.finish(.complete(second.identity, of: caller))
        #expect(try await turns.begin(caller, request, risk: .calm).known.content == "Good question.")
        #expect(try await store.count("select count(*) from public.messages where user_id = \(caller.userID.uuid)") == 2)
        #expect(try await store.count("select messages from public.rate_limits where user_id = \(caller.userID.uuid)") == 1)
        #expect(try await store.value("select status from public.messages where id = \(first.userMessageID.uuid)") == "complete")
    }

    @Test("a turn says whether recovery ended one of its earlier attempts, whose text a client may have")
    func lostAttempt() async throws {
        let store = try await StoreFixture.shared()
        let (caller, turns) = (Caller.someone(), store.turns())
        let first = try await turns.begin(caller, request, risk: .calm).begun
        #expect(!first.hasLostAttempt)
        var identity = first.identity
        for (finalizer, isLost) in [(Finalizer.owner, false), (.recovery, true), (.owner, true)] {
            var receipt = TurnReceipt.failed(identity, of: caller)
            receipt.finalizedBy = finalizer
            try await turns.finish(receipt)
            let next = try await turns.begin(caller, request, risk: .calm).begun
            #expect(next.hasLostAttempt == isLost, "attempt \(next.identity.attempt)")
            #expect(try await turns.load(identity.turnID, for: caller)?.hasLostAttempt == isLost)
            identity = next.identity
        }
        // As of a turn whose attempts began before this was recorded.
        try await store.admin.execute("update public.turns set lost_attempt = null where id = \(identity.turnID.uuid)")
        #expect(try await turns.load(identity.turnID, for: caller)?.hasLostAttempt == true)
    }

    @Test("the next attempt of a turn before the end of the conversation's summary gets the messages before its own, and no summary")
    func attemptBeforeSummary() async throws {
        let store = try await StoreFixture.shared()
        let (caller, turns) = (Caller.someone(), store.turns())
        let conversation = try await turns.talk(caller, "Before").conversationID
        var request = request
        request.conversationID = conversation
        try await turns.finish(.failed(try await turns.begin(caller, request, risk: .calm).begun.identity, of: caller))
        try await turns.talk(caller, "After", in: conversation)
        try await store.admin.execute(
            "update public.conversations set summary = 'They talked.', summarised_through_seq = 6 where id = \(conversation.uuid)")

        let attempt = try await turns.begin(caller, request, risk: .calm).begun
        #expect(attempt.identity.attempt == 2 && attempt.history.map(\.content) == ["Before", "Good question."])
        #expect(attempt.summary == nil && !attempt.needsSummary)
        try await turns.finish(.complete(attempt.identity, of: caller))
        let next = try await turns.begin(caller, TurnRequest(message: "Next", conversationID: conversation), risk: .calm).begun
        #expect(next.summary == "They talked." && next.history.isEmpty)
    }

    @Test("a repeated request for a deleted conversation is not found")
    func deleted() async throws {
        let store = try await StoreFixture.shared()
        let (caller, turns) = (Caller.someone(), store.turns())
        let identity = try await turns.begin(caller, request, risk: .calm).begun.identity
        #expect(try await store.conversations.delete(caller, identity.conversationID, nil) == identity.turnID)
        #expect(try await turns.begin(caller, request, risk: .calm).rejection.reason == .notFound)
        #expect(try await turns.finish(.complete(identity, of: caller)) == .finalized)
        #expect(try await store.count("select count(*) from public.model_calls where user_id = \(caller.userID.uuid)") == 1)
    }

    @Test("a hundred concurrent requests with one key create one turn and one message")
    func hundredAtOnce() async throws {
        let store = try await StoreFixture.shared()
        let (caller, turns, request) = (Caller.someone(), store.turns(), request)
        let openings = try await withThrowingTaskGroup(of: BeginTurnResult.self) { group in
            for _ in 0..<100 { group.addTask { try await turns.begin(caller, request, risk: .calm) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        let begun = openings.compactMap { try? $0.begun.identity }
        let known = openings.compactMap { try? $0.known.identity }
        #expect(begun.count == 1 && known.count == 99)
        #expect(Set(begun + known).count == 1)
        #expect(try await store.count("select count(*) from public.messages where user_id = \(caller.userID.uuid)") == 1)
        #expect(try await store.count("select count(*) from public.turns where user_id = \(caller.userID.uuid)") == 1)
        #expect(try await store.count("select requests from public.rate_limits where user_id = \(caller.userID.uuid)") == 1)
    }

    @Test("of fifty concurrent turns in one conversation one begins")
    func fiftyInOneConversation() async throws {
        let store = try await StoreFixture.shared()
        let (caller, turns) = (Caller.someone(), store.turns())
        let conversation = try await turns.talk(caller, "Before").conversationID
        let openings = try await withThrowingTaskGroup(of: BeginTurnResult.self) { group in
            for number in 0..<50 {
                group.addTask {
                    try await turns.begin(caller, TurnRequest(message: "\(number)", conversationID: conversation), risk: .calm)
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(openings.count { (try? $0.begun) != nil } == 1)
        #expect(openings.count { (try? $0.rejection.reason) == .turnInProgress } == 49)
    }

    @Test("a repeated request that races with the owner's late receipt begins no attempt, and returns the answer")
    func completedMeanwhile() async throws {
        let store = try await StoreFixture()
        let (caller, turns, request) = (Caller.someone(), store.turns(), request)
        let identity = try await turns.begin(caller, request, risk: .calm).begun.identity
        var lost = TurnReceipt.failed(identity, of: caller)
        lost.finalizedBy = .recovery
        try await turns.finish(lost)
        // The receipt is written and not yet committed when the request reads the turn, which it then waits for.
        try await store.gateway.withConnection { lease in
            try await lease.execute("begin")
            try await lease.execute(
                """
                select set_config('request.jwt.claims', \(caller.claims), true),
                    set_config('request.jwt.claim.sub', \(caller.userID.description), true)
                """)
            try await lease.execute(
                """
                select gateway.finish_turn(\(caller.userID), jsonb_build_object(
                    'turn_id', \(identity.turnID.uuid)::uuid, 'attempt', 1, 'status', 'complete', 'finish_reason', 'stop',
                    'content', 'Late, but whole.', 'duration_ms', 1))
                """)
            let repeated = Task { try await turns.begin(caller, request, risk: .calm) }
            let waits: Query = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
            while try await store.count(waits) == 0 { await Task.yield() }
            try await lease.execute("commit")
            let known = try await repeated.value.known
            #expect(known.status == .complete && known.content == "Late, but whole." && known.identity == identity)
        }
        #expect(try await store.count("select count(*) from gateway.running_turns") == 0)
    }
}
