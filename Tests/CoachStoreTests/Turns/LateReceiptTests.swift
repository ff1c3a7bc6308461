import CoachCore
import CoachStore
import Foundation
import PostgresClient
import Testing

@Suite("Receipts that arrive late")
struct LateReceiptTests {
    /// A turn that recovery ended as failed, and how many seconds ago it began.
    private func lost(
        _ store: StoreFixture, _ caller: Caller, secondsAgo: Int, risk: RiskAssessment = .calm
    ) async throws -> TurnIdentity {
        let turns = store.turns()
        let identity = try await turns.begin(caller, TurnRequest(message: "One?"), risk: risk).begun.identity
        var receipt = TurnReceipt.failed(identity, of: caller)
        receipt.risk = risk
        receipt.finalizedBy = .recovery
        try await turns.finish(receipt)
        try await store.admin.execute(
            """
            update public.turns set started_at = started_at - make_interval(secs => \(secondsAgo)),
                finished_at = finished_at - make_interval(secs => \(secondsAgo - 10))
            where user_id = \(caller.userID.uuid)
            """)
        return identity
    }

    @Test("the answer has the time at which its attempt ended, before that of a later turn; its change is new", arguments: [900, 20_000])
    func order(milliseconds: Int) async throws {
        let store = try await StoreFixture.shared()
        let (turns, caller) = (store.turns(), Caller.someone())
        let first = try await lost(store, caller, secondsAgo: 60)
        let second = try await turns.retry(caller, first.turnID).begun.identity
        try await turns.finish(.complete(second, of: caller, "New"))
        let synchronised = try #require(try await store.conversations.list(caller, limit: 20).position).next
        var late = TurnReceipt.complete(first, of: caller, "Late")
        late.durationMilliseconds = milliseconds
        #expect(try await turns.finish(late) == .finalized)
        let page = try await store.conversations.messages(caller, first.conversationID, limit: 20)
        #expect(page.items.map(\.content) == ["One?", "Late", "New"])
        #expect(
            try await store.count(
                """
                select count(*) from public.turns t join public.messages m on m.id = t.message_id
                where t.id = \(first.turnID.uuid) and m.created_at = t.finished_at and m.updated_at > now() - interval '10 seconds'
                    -- Never after recovery's receipt, ten seconds after its start.
                    and t.finished_at - t.started_at - make_interval(secs => least(\(milliseconds) / 1000.0, 10)) between '0 s' and '5 s'
                """) == 1)
        let changed = try await store.conversations.messages(caller, first.conversationID, limit: 20, updatedSince: synchronised)
        #expect(changed.items.map(\.content) == ["Late"])
    }

    @Test("its danger counts from the time of its attempt")
    func danger() async throws {
        let store = try await StoreFixture.shared()
        let (turns, caller) = (store.turns(), Caller.someone())
        let first = try await lost(store, caller, secondsAgo: 49 * 3_600)
        #expect(try await turns.finish(.complete(first, of: caller, "Late", risk: .danger(.high))) == .finalized)
        #expect(try await turns.begin(caller, TurnRequest(message: "Two?"), risk: .calm).begun.safetyLevel == .calm)
        let recent = try await lost(store, caller, secondsAgo: 20)
        #expect(try await turns.finish(.complete(recent, of: caller, "Late", risk: .danger(.high))) == .finalized)
        #expect(try await turns.begin(caller, TurnRequest(message: "Three?"), risk: .calm).begun.safetyLevel == .high)
    }

    @Test(
        "with newer danger in between, its danger has decayed until that, and takes nothing away from it",
        arguments: [(1, 0, 3), (30, 0, 2), (30, 10, 3), (60, 0, 2)])
    func newerDanger(hoursAgo: Int, newerHoursAgo: Int, level: Int) async throws {
        let store = try await StoreFixture.shared()
        let (turns, caller) = (store.turns(), Caller.someone())
        let first = try await lost(store, caller, secondsAgo: hoursAgo * 3_600)
        let second = try await turns.begin(caller, TurnRequest(message: "Two?"), risk: .danger(.crisis)).begun.identity
        try await turns.finish(.complete(second, of: caller, risk: .danger(.crisis)))
        try await store.admin.execute(
            """
            update public.safety_states set raised_at = raised_at - make_interval(hours => \(newerHoursAgo)) where user_id = \(caller.userID.uuid)
            """)
        #expect(try await turns.finish(.complete(first, of: caller, "Late", risk: .danger(.high))) == .finalized)
        #expect(try await turns.begin(caller, TurnRequest(message: "Three?"), risk: .calm).begun.safetyLevel.rawValue == level)
    }
}
