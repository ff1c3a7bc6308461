import CoachCore
import CoachStore
import Foundation
import PostgresClient
import Testing

@Suite("Summaries in the database")
struct SummaryTests: SummaryBench {
    @Test("the older messages up to a user's message are summarised once, and the call is in the ledger")
    func once() async throws {
        let store = try await StoreFixture.shared()
        let (caller, summaries) = (Caller.someone(), summaries(store))
        let request = try await conversation(store, caller)
        let task = try #require(try await summaries.begin(caller.userID, request))
        #expect(task.from == 0 && task.through % 2 == 0 && task.through < 12 && task.summary == nil)
        #expect(task.messages.count == task.through && task.messages.first?.content.hasPrefix("Question 1") == true)
        #expect(task.messages.last?.role == .assistant && task.call == 1_000)
        // A second run of the job at the same time.
        let other = try #require(try await summaries.begin(caller.userID, request))
        #expect(other.through == task.through && other.call == 2_000)
        #expect(try await summaries.finish(caller.userID, receipt(request, task, "They want to run.")))
        #expect(try await summaries.finish(caller.userID, receipt(request, other, "Too late.")) == false)
        #expect(try await state(store, request) == "They want to run.|\(task.through)")
        #expect(
            try await rows(store, request)
                == "1000|0|summary|- 1000|1|summary|0.000000700 2000|0|summary|- 2000|1|summary|0.000000700")
        // Delivered again: nothing changes.
        #expect(try await summaries.finish(caller.userID, receipt(request, task, "Twice.")) == false)
        #expect(try await state(store, request) == "They want to run.|\(task.through)")
        let spent = try await store.value("select spent_usd::text from public.budgets where user_id = \(caller.userID.uuid)")
        let booked = try await store.value(
            "select sum(l.cost_usd)::text from public.usage_logs l join public.users u using (account_id) where u.id = \(caller.userID.uuid)"
        )
        #expect(spent == booked)
        let context = try await store.turns().begin(
            caller, TurnRequest(message: "And now?", conversationID: request.conversationID), risk: .calm
        ).begun
        #expect(context.summary == "They want to run." && context.unsummarised == 12 - task.through)
        // What the summary covers is not sent again.
        #expect(context.history.count == 12 - task.through && context.history.first?.role == .user && !context.needsSummary)
    }

    @Test("a failed message asks for no summary, and brings no summarised message into the history")
    func failedMessage() async throws {
        let store = try await StoreFixture.shared()
        let (caller, summaries, turns) = (Caller.someone(), summaries(store), store.turns())
        let request = try await conversation(store, caller)
        try await turns.talk(caller, "Unanswered", in: request.conversationID, status: .failed)
        let next = TurnRequest(message: "And now?", conversationID: request.conversationID)
        let before = try await turns.begin(caller, next, risk: .calm).begun
        #expect(before.unsummarised == 12 && before.history.count == 12 && !before.needsSummary)
        try await turns.finish(.failed(before.identity, of: caller))

        let task = try #require(try await summaries.begin(caller.userID, request))
        #expect(try await summaries.finish(caller.userID, receipt(request, task, "They want to run.")))
        let after = try await turns.begin(caller, next, risk: .calm).begun
        #expect(after.summary == "They want to run." && after.unsummarised == 12 - task.through)
        #expect(after.history.count == 12 - task.through && !after.needsSummary)
    }

    @Test("a turn that is deleted while its summary is made enters none, which is billed; the next one is made of the rest")
    func deletedMeanwhile() async throws {
        let store = try await StoreFixture.shared()
        let (caller, summaries) = (Caller.someone(), summaries(store))
        let request = try await conversation(store, caller)
        _ = try await store.admin.execute("update public.conversations set source = 'openai' where id = \(request.conversationID.uuid)")
        let task = try #require(try await summaries.begin(caller.userID, request))
        let first: Query = "select id::text from public.turns where conversation_id = \(request.conversationID.uuid) order by seq limit 1"
        let turn = try #require(try await store.value(first).flatMap { UUID(uuidString: $0) })
        #expect(try await ResponseRepository.postgres(client: store.gateway).delete(caller, TurnID(turn)))
        for _ in 1...2 { #expect(try await summaries.finish(caller.userID, receipt(request, task, "They want to run.")) == false) }
        #expect(try await state(store, request) == "-|0")
        #expect(try await rows(store, request) == "1000|0|summary|- 1000|1|summary|0.000000700")
        let next = try #require(try await summaries.begin(caller.userID, request))
        #expect(next.messages.first?.content.hasPrefix("Question 2") == true)
        #expect(try await summaries.finish(caller.userID, receipt(request, next, "They want to swim.")))
    }

    @Test("an empty summary replaces nothing, and is billed")
    func empty() async throws {
        let store = try await StoreFixture.shared()
        let (caller, summaries) = (Caller.someone(), summaries(store))
        let request = try await conversation(store, caller)
        let first = try #require(try await summaries.begin(caller.userID, request))
        #expect(try await summaries.finish(caller.userID, receipt(request, first, " \n")) == false)
        #expect(try await state(store, request) == "-|0")
        #expect(try await rows(store, request) == "1000|0|summary|- 1000|1|summary|0.000000700")

        let second = try #require(try await summaries.begin(caller.userID, request))
        #expect(try await summaries.finish(caller.userID, receipt(request, second, "They want to run.")))
        let kept = try await state(store, request)
        var later = request
        for number in 7...12 {
            let turn = try await store.turns().talk(
                caller, "Question \(number) \(String(repeating: "word ", count: 38))", in: request.conversationID,
                answer: "Answer \(number)")
            (later.turnID, later.attempt) = (turn.turnID, turn.attempt)
        }
        let third = try #require(try await summaries.begin(caller.userID, later))
        #expect(third.summary == "They want to run.")
        #expect(try await summaries.finish(caller.userID, receipt(later, third, " \n")) == false)
        #expect(try await state(store, later) == kept && kept?.hasPrefix("They want to run.|") == true)
    }

    @Test("a call that no provider accepted has failed, beside the one that made the summary")
    func failover() async throws {
        let store = try await StoreFixture.shared()
        let (caller, summaries) = (Caller.someone(), summaries(store))
        let request = try await conversation(store, caller)
        let task = try #require(try await summaries.begin(caller.userID, request))
        let number = task.call + 1
        for _ in 1...2 {
            #expect(
                try await CallLedger.postgres(client: store.gateway).record(
                    PendingCall(
                        userID: caller.userID, turnID: request.turnID, attempt: request.attempt, number: number, purpose: .summary,
                        day: task.day)))
        }
        var receipt = receipt(request, task, "They want to run.")
        receipt.calls.append(BilledCall(number: number, purpose: .summary, name: ModelName(provider: "down", model: "m"), bill: nil))
        #expect(try await summaries.finish(caller.userID, receipt))
        #expect(try await rows(store, request) == "1000|0|summary|- 1000|1|summary|0.000000700 1001|0|summary|- 1001|1|summary|-")
    }

    @Test("the call of a summary whose process was killed is ended once its job has no lease; a late receipt counts, once")
    func killed() async throws {
        let store = try await StoreFixture()
        let (caller, summaries) = (Caller.someone(), summaries(store))
        let housekeeping = Housekeeping.postgres(client: store.gateway, daysKept: 1)
        let queue = JobQueue(client: store.gateway, instance: UUID())
        let request = try await conversation(store, caller)
        let job = NewJob(.summariseConversation, userID: caller.userID, payload: ["turn_id": .string("\(request.turnID)")])
        _ = try await queue.enqueue(job)
        #expect(try await queue.exchange([], [.summariseConversation: 1], .seconds(60)).count == 1)
        let task = try #require(try await summaries.begin(caller.userID, request))
        #expect(try await housekeeping.endLostSummaries() == 0, "it runs")
        try await store.admin.execute("update gateway.jobs set lease_until = clock_timestamp()")
        #expect(try await housekeeping.endLostSummaries() == 1)
        #expect(try await housekeeping.endLostSummaries() == 0)
        #expect(try await rows(store, request) == "1000|0|summary|- 1000|1|summary|-")
        let spent: Query = "select sum(spent_usd)::text from public.budgets where user_id = \(caller.userID.uuid)"
        let before = try #require(try await store.value(spent).flatMap { Decimal(string: $0) })

        for isFirst in [true, false] {
            #expect(try await summaries.finish(caller.userID, receipt(request, task, "They want to run.")) == isFirst)
        }
        #expect(try await rows(store, request) == "1000|0|summary|- 1000|1|summary|- 1000|2|summary|0.000000700")
        #expect(try await store.value(spent).flatMap { Decimal(string: $0) } == before + Decimal(string: "0.0000007")!)
        #expect(try await housekeeping.endLostSummaries() == 0)
    }

    @Test("without the consent nothing is read, and what was made meanwhile is not kept")
    func consent() async throws {
        let store = try await StoreFixture.shared()
        let (caller, summaries) = (Caller.someone(), summaries(store))
        let request = try await conversation(store, caller)
        let required = self.summaries(store, consents: RequiredConsents([.memory]))
        #expect(try await required.begin(caller.userID, request) == nil)
        let task = try #require(try await summaries.begin(caller.userID, request))
        try await store.admin.execute("update public.users set consents = '{\"memory\": false}' where id = \(caller.userID.uuid)")
        #expect(try await summaries.finish(caller.userID, receipt(request, task, "They want to run.")) == false)
        #expect(try await state(store, request) == "-|0")
        #expect(try await summaries.begin(caller.userID, request) == nil)
        let context = try await store.turns().begin(
            caller, TurnRequest(message: "And now?", conversationID: request.conversationID), risk: .calm
        ).begun
        #expect(context.unsummarised == nil && !context.needsSummary)
    }

    @Test("no summary begins while a consent is missing without which no model is called")
    func modelConsent() async throws {
        let store = try await StoreFixture.shared()
        let (caller, summaries) = (Caller.someone(), summaries(store, consents: RequiredConsents([.aiProcessing])))
        let request = try await conversation(store, caller)
        for (given, begins) in [("{}", false), (#"{"ai_processing": false}"#, false), (#"{"ai_processing": true}"#, true)] {
            try await store.admin.execute("update public.users set consents = \(given)::jsonb where id = \(caller.userID.uuid)")
            #expect(try await (summaries.begin(caller.userID, request) != nil) == begins, "\(given)")
        }
    }

    @Test("an ephemeral conversation is never summarised")
    func ephemeral() async throws {
        let store = try await StoreFixture.shared()
        let (caller, summaries) = (Caller.someone(), summaries(store))
        let request = try await conversation(store, caller)
        let turn = TurnRequest(message: "And now?", conversationID: request.conversationID)
        try await store.admin.execute("update public.conversations set ephemeral = true where id = \(request.conversationID.uuid)")
        #expect(try await summaries.begin(caller.userID, request) == nil)
        let context = try await store.turns().begin(caller, turn, risk: .calm).begun
        #expect(context.unsummarised == nil && context.summary == nil && !context.needsSummary)
        var receipt = TurnReceipt.complete(context.identity, of: caller)
        receipt.summaryTokens = 200
        try await store.turns().finish(receipt)
        let jobs = "select count(*) from gateway.jobs where user_id = \(caller.userID.uuid) and kind = 'summarise_conversation'" as Query
        #expect(try await store.count(jobs) == 0)
        #expect(try await state(store, request) == "-|0")
    }

    @Test("a short conversation has nothing to summarise, nor has somebody else's")
    func nothing() async throws {
        let store = try await StoreFixture.shared()
        let (caller, summaries) = (Caller.someone(), summaries(store))
        let request = try await conversation(store, caller, turns: 1)
        #expect(try await summaries.begin(caller.userID, request) == nil)
        let (long, stranger) = (try await conversation(store, caller), Caller.someone())
        try await store.turns().talk(stranger, "Hello")
        #expect(try await summaries.begin(stranger.userID, long) == nil)
    }
}
