import CoachCore
import CoachStore
import PostgresClient
import Testing

@Suite("Abandoning a turn")
struct AbandonTurnTests {
    private let tiers = TierBook([Tier("free", requestsPerMinute: 600)], reservePerTurn: Nanodollars(400), reservedTokensPerTurn: 130)

    private func next(_ identity: TurnIdentity) -> TurnRequest { TurnRequest(message: "Next", conversationID: identity.conversationID) }

    @Test("an abandoned turn has failed and reserves nothing, its conversation goes on, and its owner's receipt replaces the failure")
    func abandon() async throws {
        let store = try await StoreFixture.shared()
        let (turns, caller) = (store.turns(tiers), Caller.someone())
        let identity = try await turns.begin(caller, TurnRequest(message: "Hello"), risk: .calm).begun.identity
        var other = identity
        other.attempt = 2
        try await turns.repository.abandon(caller.userID, other)
        #expect(try await turns.begin(caller, next(identity), risk: .calm).rejection.reason == .turnInProgress)

        for _ in 1...2 { try await turns.repository.abandon(caller.userID, identity) }
        let failed = try #require(try await turns.load(identity.turnID, for: caller))
        #expect(failed.status == .failed && failed.errorCode == "SYS_5000" && failed.content == "" && failed.bill == nil)
        let budget: Query = """
            select concat_ws('|', spent_usd, reserved_usd, reserved_tokens) from public.budgets where user_id = \(caller.userID.uuid)
            """
        #expect(try await store.value(budget) == "0.000000000|0.000000000|0")
        let message: Query = "select status from public.messages where id = \(identity.userMessageID.uuid)"
        #expect(try await store.value(message) == "failed")
        let second = try await turns.begin(caller, next(identity), risk: .calm).begun.identity
        try await turns.finish(.complete(second, of: caller))

        #expect(try await turns.finish(.complete(identity, of: caller, "Late")) == .finalized)
        #expect(try await turns.load(identity.turnID, for: caller)?.content == "Late")
        #expect(try await store.value(message) == "complete")
        #expect(try await store.value(budget) == "0.000246912|0.000000000|0")
    }

    @Test("the answer that an abandoned retry superseded is restored")
    func retry() async throws {
        let store = try await StoreFixture.shared()
        let (turns, caller) = (store.turns(), Caller.someone())
        let first = try await turns.talk(caller, "One?", answer: "Old")
        guard case .begun(let context, _, _) = try await turns.retry(caller, first.turnID) else {
            Issue.record("the retry did not begin")
            return
        }
        let answer: Query = "select status from public.messages where id = \(first.messageID.uuid)"
        #expect(try await store.value(answer) == "superseded")
        try await turns.repository.abandon(caller.userID, context.identity)
        #expect(try await store.value(answer) == "complete")
    }

    @Test("a turn can be abandoned whose failures are rejected, whatever its messages, its budget or the ledger reject")
    func rejected() async throws {
        let store = try await StoreFixture()
        let (turns, caller) = (store.turns(tiers), Caller.someone())
        let identity = try await turns.begin(caller, TurnRequest(message: "Hello"), risk: .calm).begun.identity
        for table in ["messages", "usage_logs"] {
            try await store.admin.execute(
                Query(unsafeSQL: "alter table public.\(table) add constraint never check (status <> 'failed') not valid"))
        }
        try await store.admin.execute("alter table public.budgets add constraint never check (reserved_usd > 0) not valid")
        for failure in TurnReceipt.complete(identity, of: caller).failures {
            await #expect(throws: StoreFault.self) { try await turns.finish(failure) }
        }
        try await turns.repository.abandon(caller.userID, identity)
        #expect(try await turns.load(identity.turnID, for: caller)?.status == .failed)
        _ = try await turns.begin(caller, next(identity), risk: .calm).begun
    }
}
