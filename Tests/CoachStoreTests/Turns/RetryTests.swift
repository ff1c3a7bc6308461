import CoachCore
import CoachStore
import Foundation
import PostgresClient
import Testing

@Suite("Retrying a turn")
struct RetryTests {
    /// The conversation as its owner reads it: `role:status:content`.
    private func storedMessages(_ store: StoreFixture, _ conversation: ConversationID) async throws -> [String] {
        try await store.admin.query(
            """
            select concat_ws(':', role, status, content) from public.messages where conversation_id = \(conversation.uuid)
            order by seq, created_at
            """
        ) { rows in try rows.map { row in try row.value(0) } }
    }

    @Test("a retry answers the same message in the same place; the old answer is kept but not sent to a model")
    func regenerate() async throws {
        let store = try await StoreFixture.shared()
        let (turns, caller) = (store.turns(), Caller.someone())
        let zeroth = try await turns.talk(caller, "Zero?", answer: "0")
        let first = try await turns.talk(caller, "One?", in: zeroth.conversationID, answer: "Old")
        let begun = try await turns.retry(caller, first.turnID)
        let context = try begun.begun
        #expect(try begun.message == "One?" && context.history.map(\.content) == ["Zero?", "0"])
        let second = context.identity
        #expect(second.turnID != first.turnID && second.messageID != first.messageID && second.attempt == 1)
        #expect(second.userMessageID == first.userMessageID && second.conversationID == first.conversationID)
        try await turns.finish(.complete(second, of: caller, "New"))
        #expect(
            try await storedMessages(store, first.conversationID) == [
                "user:complete:Zero?", "assistant:complete:0", "user:complete:One?", "assistant:superseded:Old", "assistant:complete:New",
            ])
        let third = try await turns.begin(caller, TurnRequest(message: "Two?", conversationID: first.conversationID), risk: .calm).begun
        #expect(third.history.map(\.content) == ["Zero?", "0", "One?", "New"])
        #expect(try await turns.load(first.turnID, for: caller)?.content == "Old")
    }

    @Test("the pinned domain of the first request applies to every retry")
    func pinned() async throws {
        let store = try await StoreFixture.shared()
        let (turns, caller) = (store.turns(), Caller.someone())
        var request = TurnRequest(message: "One?")
        request.pinnedDomain = .fitness
        let first = try await turns.begin(caller, request, risk: .calm).begun
        #expect(first.pinnedDomain == .fitness)
        try await turns.finish(.complete(first.identity, of: caller, "Old"))
        let second = try await turns.retry(caller, first.identity.turnID).begun
        #expect(second.pinnedDomain == .fitness)
        try await turns.finish(.failed(second.identity, of: caller))
        #expect(try await turns.retry(caller, second.identity.turnID).begun.pinnedDomain == .fitness)
    }

    @Test("a retry that is stopped before its first word leaves no answer, and restores the old one")
    func stoppedBeforeTheFirstWord() async throws {
        let store = try await StoreFixture.shared()
        let (turns, caller) = (store.turns(), Caller.someone())
        let first = try await turns.talk(caller, "One?", answer: "Old")
        let second = try await turns.retry(caller, first.turnID).begun.identity
        var receipt = TurnReceipt.complete(second, of: caller, "")
        receipt.status = .stopped
        receipt.finishReason = .stopped
        try await turns.finish(receipt)
        #expect(try await storedMessages(store, first.conversationID) == ["user:complete:One?", "assistant:complete:Old"])
        #expect(try await turns.load(second.turnID, for: caller)?.status == .stopped)
        let third = try await turns.retry(caller, second.turnID).begun.identity
        try await turns.finish(.failed(third, of: caller))
        #expect(try await storedMessages(store, first.conversationID) == ["user:complete:One?", "assistant:complete:Old"])
    }

    @Test("a turn with any end can be retried", arguments: [TurnStatus.complete, .stopped, .interrupted, .failed])
    func everyEnd(status: TurnStatus) async throws {
        let store = try await StoreFixture.shared()
        let (turns, caller) = (store.turns(), Caller.someone())
        let first = try await turns.talk(caller, "One?", answer: "Old", status: status)
        let second = try await turns.retry(caller, first.turnID).begun.identity
        try await turns.finish(.complete(second, of: caller, "New"))
        let old = status == .failed ? [] : ["assistant:superseded:Old"]
        #expect(try await storedMessages(store, first.conversationID) == ["user:complete:One?"] + old + ["assistant:complete:New"])
    }

    @Test("only turns of the latest message can be retried, while none runs, and only by their user")
    func latestOnly() async throws {
        let store = try await StoreFixture.shared()
        let (turns, caller) = (store.turns(), Caller.someone())
        func reason(_ turnID: TurnID, by other: Caller? = nil) async throws -> Rejection.Reason {
            try await turns.retry(other ?? caller, turnID).rejection.reason
        }
        let early = try await turns.talk(caller, "One?")
        let late = try await turns.talk(caller, "Two?", in: early.conversationID)
        #expect(try await reason(early.turnID) == .notFound)
        #expect(try await reason(.random()) == .notFound)
        #expect(try await reason(late.turnID, by: .someone()) == .notFound)
        let second = try await turns.retry(caller, late.turnID).begun.identity
        #expect(try await reason(late.turnID) == .turnInProgress)
        #expect(try await reason(second.turnID) == .turnInProgress)
        try await turns.finish(.complete(second, of: caller, "New"))
        // By a client that has lost the answer to its retry.
        let third = try await turns.retry(caller, late.turnID).begun.identity
        #expect(third.turnID != second.turnID && third.userMessageID == late.userMessageID)
        try await turns.finish(.failed(third, of: caller))
        #expect(try await storedMessages(store, early.conversationID).last == "assistant:complete:New")
        _ = try await store.conversations.delete(caller, early.conversationID, nil)
        #expect(try await reason(second.turnID) == .notFound)
    }

    @Test("twenty concurrent retries begin one turn")
    func race() async throws {
        let store = try await StoreFixture.shared()
        let (turns, caller) = (store.turns(), Caller.someone())
        let first = try await turns.talk(caller, "One?")
        let openings = try await withThrowingTaskGroup(of: BeginTurnResult.self) { group in
            for _ in 0..<20 { group.addTask { try await turns.retry(caller, first.turnID) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(openings.compactMap { try? $0.begun }.count == 1)
        #expect(openings.compactMap { try? $0.rejection.reason } == Array(repeating: .turnInProgress, count: 19))
    }

    @Test("a retry that fails restores the old answer, and can be retried")
    func failing() async throws {
        let store = try await StoreFixture.shared()
        let (turns, caller) = (store.turns(), Caller.someone())
        let first = try await turns.talk(caller, "One?", answer: "Old", status: .stopped)
        let second = try await turns.retry(caller, first.turnID).begun.identity
        try await turns.finish(.failed(second, of: caller))
        #expect(try await storedMessages(store, first.conversationID) == ["user:complete:One?", "assistant:stopped:Old"])
        let third = try await turns.retry(caller, second.turnID).begun.identity
        #expect(try await storedMessages(store, first.conversationID) == ["user:complete:One?", "assistant:superseded:Old"])
        try await turns.finish(.failed(third, of: caller))
        #expect(try await storedMessages(store, first.conversationID) == ["user:complete:One?", "assistant:stopped:Old"])
        let fourth = try await turns.retry(caller, third.turnID).begun.identity
        try await turns.finish(.complete(fourth, of: caller, "New"))
        #expect(
            try await storedMessages(store, first.conversationID) == [
                "user:complete:One?", "assistant:superseded:Old", "assistant:complete:New",
            ])
    }

    @Test(
        "a late receipt of a retried turn is booked, but its answer does not return to the conversation",
        arguments: [TurnStatus.interrupted, .failed])
    func lateReceipt(recovered: TurnStatus) async throws {
        let store = try await StoreFixture.shared()
        let (turns, caller) = (store.turns(), Caller.someone())
        let first = try await turns.begin(caller, TurnRequest(message: "One?"), risk: .calm).begun.identity
        var estimate = recovered == .failed ? TurnReceipt.failed(first, of: caller) : .complete(first, of: caller, "Half")
        estimate.status = recovered
        estimate.finalizedBy = .recovery
        try await turns.finish(estimate)
        let second = try await turns.retry(caller, first.turnID).begun.identity
        #expect(try await turns.finish(.complete(first, of: caller, "Whole")) == .finalized)
        try await turns.finish(.complete(second, of: caller, "New"))
        #expect(
            try await storedMessages(store, first.conversationID) == [
                "user:complete:One?", "assistant:superseded:Whole", "assistant:complete:New",
            ])
        #expect(try await store.count("select count(*) from public.model_calls where user_id = \(caller.userID.uuid)") == 2)
    }

    @Test("a late receipt, failed or not, does not affect the answer of a later turn")
    func lateAfterRetry() async throws {
        let store = try await StoreFixture.shared()
        let (turns, caller) = (store.turns(), Caller.someone())
        let first = try await turns.talk(caller, "One?", answer: "Old")
        let second = try await turns.retry(caller, first.turnID).begun.identity
        var estimate = TurnReceipt.failed(second, of: caller)
        estimate.finalizedBy = .recovery
        try await turns.finish(estimate)
        let third = try await turns.retry(caller, second.turnID).begun.identity
        try await turns.finish(.complete(third, of: caller, "New"))
        let answered = ["user:complete:One?", "assistant:superseded:Old", "assistant:complete:New"]

        var late = TurnReceipt.failed(second, of: caller)
        late.finalizedBy = .recovery
        #expect(try await turns.finish(late) == .alreadyFinalized)
        #expect(try await turns.finish(.complete(second, of: caller, "Late")) == .finalized)
        #expect(try await Set(storedMessages(store, first.conversationID)) == Set(answered + ["assistant:superseded:Late"]))

        let other = try await turns.begin(caller, TurnRequest(message: "Two?"), risk: .calm).begun.identity
        var lost = TurnReceipt.failed(other, of: caller)
        lost.finalizedBy = .recovery
        try await turns.finish(lost)
        let again = try await turns.retry(caller, other.turnID).begun.identity
        try await turns.finish(.complete(again, of: caller, "New"))
        #expect(try await turns.finish(.failed(other, of: caller)) == .finalized)
        #expect(try await storedMessages(store, other.conversationID) == ["user:complete:Two?", "assistant:complete:New"])
    }

    @Test("an answer that is visible again since a retry failed is replaced by its owner's late receipt")
    func lateAfterFailedRetry() async throws {
        let store = try await StoreFixture.shared()
        let (turns, caller) = (store.turns(), Caller.someone())
        let first = try await turns.begin(caller, TurnRequest(message: "One?"), risk: .calm).begun.identity
        var estimate = TurnReceipt.complete(first, of: caller, "Half")
        estimate.status = .interrupted
        estimate.finalizedBy = .recovery
        try await turns.finish(estimate)
        let second = try await turns.retry(caller, first.turnID).begun.identity
        try await turns.finish(.failed(second, of: caller))
        #expect(try await storedMessages(store, first.conversationID) == ["user:complete:One?", "assistant:interrupted:Half"])
        #expect(try await turns.finish(.complete(first, of: caller, "Whole")) == .finalized)
        #expect(try await storedMessages(store, first.conversationID) == ["user:complete:One?", "assistant:complete:Whole"])
    }

    @Test(
        "what a user has deleted is not written again by the owner's late receipt, whose bill counts",
        arguments: [TurnStatus.interrupted, .failed])
    func lateAfterDeletion(recovered: TurnStatus) async throws {
        let store = try await StoreFixture.shared()
        let (turns, caller) = (store.turns(), Caller.someone())
        let first = try await turns.begin(caller, TurnRequest(message: "One?", source: .openai), risk: .calm).begun.identity
        var estimate = recovered == .failed ? TurnReceipt.failed(first, of: caller) : .complete(first, of: caller, "Half")
        estimate.status = recovered
        estimate.finalizedBy = .recovery
        try await turns.finish(estimate)
        #expect(try await ResponseRepository.postgres(client: store.gateway).delete(caller, first.turnID))
        #expect(try await turns.finish(.complete(first, of: caller, "Whole")) == .superseded)
        #expect(
            try await store.count(
                """
                select count(*) from public.messages where turn_id = \(first.turnID.uuid) and (content <> '' or status <> 'superseded')
                """) == 0)
        #expect(
            try await store.count(
                "select count(*) from public.model_calls where turn_id = \(first.turnID.uuid) and finalized_by = 'owner'") == 1)
    }

    @Test("a retry counts like a message, and a message at risk passes the limits again")
    func gates() async throws {
        let store = try await StoreFixture.shared()
        let one = TierBook([Tier("free", messagesPerDay: 1)])
        let calm = Caller.someone()
        let turn = try await store.turns(one).talk(calm, "One?")
        #expect(try await store.turns(one).retry(calm, turn.turnID).rejection.reason == .quotaExhausted)
        #expect(try await storedMessages(store, turn.conversationID) == ["user:complete:One?", "assistant:complete:Good question."])

        let endangered = Caller.someone()
        let context = try await store.turns(one).begin(endangered, TurnRequest(message: "Help"), risk: .danger(.high)).begun
        try await store.turns(one).finish(.complete(context.identity, of: endangered, risk: .danger(.high)))
        try await store.admin.execute("delete from public.safety_states where user_id = \(endangered.userID.uuid)")
        _ = try await store.turns(one).retry(endangered, context.identity.turnID).begun

        try await store.admin.execute("update public.users set suspended_at = now() where id = \(calm.userID.uuid)")
        #expect(try await store.turns().retry(calm, turn.turnID).rejection.reason == .suspended)
    }

    @Test("a retry uses the conversation's persona and the first request's region")
    func setting() async throws {
        let store = try await StoreFixture.shared()
        let (turns, caller) = (store.turns(), Caller.someone())
        let persona = try await store.persona()
        let request = TurnRequest(message: "One?", personaID: persona, region: Region(country: "AT", locale: "de-AT"))
        let first = try await turns.begin(caller, request, risk: .calm).begun.identity
        try await turns.finish(.complete(first, of: caller))
        let context = try await turns.retry(caller, first.turnID).begun
        #expect(context.persona?.id == persona && context.region == Region(country: "AT", locale: "de-AT"))
        #expect(context.conversationDomain == .mindset)
    }
}
