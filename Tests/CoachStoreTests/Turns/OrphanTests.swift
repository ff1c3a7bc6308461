import CoachCore
import CoachStore
import Foundation
import PostgresClient
import Testing

@Suite("Orphaned turns")
struct OrphanTests {
    /// A turn of an ended epoch, and the epoch after it.
    private func orphaned(
        _ store: StoreFixture, _ caller: Caller, _ progress: (TurnIdentity) -> [TurnProgress]
    ) async throws -> (TurnIdentity, TestInstance) {
        let earlier = try await TestInstance(store)
        let identity = try await earlier.turns.begin(caller, TurnRequest(message: "Hello", idempotencyKey: "k"), risk: .danger(.concern))
            .begun
            .identity
        for progress in progress(identity) { _ = try await earlier.turns.checkpoint([progress]) }
        return (identity, try await TestInstance(store, of: earlier.instance))
    }

    private func estimate(_ orphan: OrphanedTurn) -> TurnReceipt {
        var receipt = TurnReceipt.complete(orphan.facts.identity, of: .someone(orphan.facts.userID), orphan.content, cost: Nanodollars(900))
        receipt.status = orphan.content.isEmpty ? .failed : .interrupted
        receipt.finishReason = nil
        receipt.bill?.estimated = true
        receipt.finalizedBy = .recovery
        return receipt
    }

    private func orphan(of identity: TurnIdentity, _ peer: TestInstance) async throws -> OrphanedTurn {
        try #require(try await peer.turns.orphans().first { $0.facts.identity == identity })
    }

    @Test("an orphan has its text up to the last checkpoint, its model and its decisions")
    func complete() async throws {
        let store = try await StoreFixture.shared()
        let caller = Caller.someone()
        let (identity, peer) = try await orphaned(store, caller) { identity in
            let start = TurnProgress.first(identity, of: caller, "", answeredBy: nil)
            var first = start.next("Wie geht’s")
            first.start?.answeredBy = ModelName(provider: "second", model: "choice")
            return [start, first, first.next(" dir")]
        }
        let orphan = try await orphan(of: identity, peer)
        #expect(orphan.content == "Wie geht’s dir")
        #expect(orphan.start.answeredBy == ModelName(provider: "second", model: "choice"))
        #expect(orphan.start.promptTokens == 77 && (0..<60_000).contains(orphan.durationMilliseconds))
        #expect(orphan.facts == TurnProgress.first(identity, of: caller, "").start?.facts && orphan.start.unusedCalls.isEmpty)
    }

    @Test("an orphan has the calls that came to nothing, and those of the judge")
    func calls() async throws {
        let store = try await StoreFixture.shared()
        let caller = Caller.someone()
        let judge = BilledCall(
            number: 2, purpose: .judge, name: ModelName(provider: "judge", model: "m"),
            bill: TurnBill(
                name: ModelName(provider: "judge", model: "m"), usage: TokenUsage(input: 5, output: 1), cost: Nanodollars(3),
                estimated: false))
        let others = [
            UnusedCall(
                name: ModelName(provider: "slow", model: "m"), isAccepted: true, usage: TokenUsage(input: 9, output: 2, isPartial: true),
                textBytes: 7, reasoningBytes: 5),
            UnusedCall(name: ModelName(provider: "down", model: "m"), isAccepted: false),
        ]
        let (identity, peer) = try await orphaned(store, caller) { identity in
            var progress = TurnProgress.first(identity, of: caller, "", answeredBy: nil)
            progress.start?.facts.earlierCalls = [judge]
            progress.start?.unusedCalls = others
            progress.start?.recordedCalls = [3, 5]
            return [progress]
        }
        let orphan = try await orphan(of: identity, peer)
        #expect(orphan.start.answeredBy == nil && orphan.start.unusedCalls == others && orphan.facts.earlierCalls == [judge])
        #expect(orphan.start.recordedCalls == [3, 5])
    }

    @Test("a lot has at most 64 orphans, the oldest first, and none that was tried")
    func lots() async throws {
        let store = try await StoreFixture()
        let earlier = try await TestInstance(store)
        var begun: [TurnID] = []
        for _ in 0..<66 { begun.append(try await earlier.begin(.someone()).turnID) }
        let peer = try await TestInstance(store, of: earlier.instance)
        #expect(try await peer.turns.orphans().map(\.facts.identity.turnID) == Array(begun.prefix(64)))
        let tried = Array(begun.prefix(65)).filter { $0 != begun[7] }
        #expect(try await peer.turns.orphans(without: tried).map(\.facts.identity.turnID) == [begun[7], begun[65]])
    }

    @Test("an orphan without a checkpoint has its message's assessment, and no bill")
    func nothingSaid() async throws {
        let store = try await StoreFixture.shared()
        let caller = Caller.someone()
        let (identity, peer) = try await orphaned(store, caller) { _ in [] }
        let orphan = try await orphan(of: identity, peer)
        #expect(
            orphan.content == "" && orphan.start.answeredBy == nil && orphan.start.promptTokens == 0 && orphan.durationMilliseconds == 0)
        #expect(orphan.facts.domain == .undecided)
        #expect(orphan.facts.risk == .danger(.concern) && orphan.facts.userID == caller.userID)
    }

    @Test("danger found after a turn began is the orphan's and the user's, and counts from then, unless the attempt does not run")
    func raisedRisk() async throws {
        let store = try await StoreFixture.shared()
        let caller = Caller.someone()
        let (identity, peer) = try await orphaned(store, caller) { _ in [] }
        try await store.admin.execute(
            "update public.safety_states set level = 3, raised_at = now() - interval '23 hours' where user_id = \(caller.userID.uuid)")
        let state: Query = """
            select concat_ws('|', level, raised_at > now() - interval '1 minute') from public.safety_states where user_id = \(caller.userID.uuid)
            """
        var other = identity
        other.attempt = 2
        try await peer.turns.repository.raiseRisk(caller.userID, other, .danger(.high))
        try await peer.turns.repository.raiseRisk(Caller.someone().userID, identity, .danger(.high))
        #expect(try await orphan(of: identity, peer).facts.risk == .danger(.concern))
        #expect(try await store.value(state) == "3|f")

        try await peer.turns.repository.raiseRisk(caller.userID, identity, .danger(.crisis))
        let orphan = try await orphan(of: identity, peer)
        #expect(orphan.facts.risk == .danger(.crisis))
        #expect(try await peer.turns.load(identity.turnID, for: caller)?.risk == .danger(.crisis))
        #expect(try await store.value(state) == "3|t")
        try await peer.turns.repository.raiseRisk(caller.userID, identity, .danger(.concern))
        #expect(try await peer.turns.load(identity.turnID, for: caller)?.risk == .danger(.crisis), "never lowered")

        _ = try await peer.turns.finish(estimate(orphan))
        try await peer.turns.repository.raiseRisk(caller.userID, identity, .danger(.high))
        #expect(try await peer.turns.load(identity.turnID, for: caller)?.risk.tier != .high)
    }

    @Test("two concurrent collectors finalize a turn once, and its running state is removed")
    func twoCollectors() async throws {
        let store = try await StoreFixture.shared()
        let caller = Caller.someone()
        let (identity, peer) = try await orphaned(store, caller) { [.first($0, of: caller, "Half a sent")] }
        let (receipt, turns) = (estimate(try await orphan(of: identity, peer)), peer.turns)
        let outcomes = try await withThrowingTaskGroup(of: ReceiptOutcome.self) { group in
            for _ in 0..<2 { group.addTask { try await turns.finish(receipt) } }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(outcomes == [.finalized, .alreadyFinalized])
        #expect(try await peer.turns.orphans().allSatisfy { $0.facts.identity != identity })
        #expect(try await store.count("select count(*) from public.model_calls where turn_id = \(identity.turnID.uuid)") == 1)
        _ = try await store.sweep()
        #expect(try await store.count("select count(*) from gateway.running_turns where turn_id = \(identity.turnID.uuid)") == 0)

        // The same request gets the kept text, without another model call.
        let known = try await peer.turns.begin(caller, TurnRequest(message: "Hello", idempotencyKey: "k"), risk: .calm).known
        #expect(known.status == .interrupted && known.content == "Half a sent" && known.bill?.estimated == true)
    }

    @Test("who answers a lost turn's message again knows what its attempt decided, when a checkpoint has that", arguments: [true, false])
    func decidedRisk(hasCheckpoint: Bool) async throws {
        let store = try await StoreFixture.shared()
        let caller = Caller.someone()
        let (first, peer) = try await orphaned(store, caller) { hasCheckpoint ? [.first($0, of: caller, "Half")] : [] }
        func recover(_ identity: TurnIdentity, _ peer: TestInstance) async throws {
            let orphan = try await orphan(of: identity, peer)
            var receipt = estimate(orphan)
            receipt.risk = orphan.facts.risk
            #expect(try await peer.turns.finish(receipt) == .finalized)
        }
        try await recover(first, peer)
        let second = try await peer.turns.retry(caller, first.turnID).begun
        #expect(second.earlierRisk == (hasCheckpoint ? .danger(.crisis) : nil))
        // Lost before a checkpoint of its own.
        let next = try await TestInstance(store, of: peer.instance)
        try await recover(second.identity, next)
        #expect(try await next.turns.retry(caller, second.identity.turnID).begun.earlierRisk == second.earlierRisk)
    }

    @Test("a turn that ended before its risk was decided keeps the risk of its message; the next attempt assesses the message again")
    func undecidedRisk() async throws {
        let store = try await StoreFixture.shared()
        let (turns, caller) = (store.turns(), Caller.someone())
        let request = TurnRequest(message: "One?", idempotencyKey: "k")
        let first = try await turns.begin(caller, request, risk: .danger(.concern)).begun.identity
        var receipt = TurnReceipt.failed(first, of: caller)
        receipt.risk = nil
        try await turns.finish(receipt)
        #expect(
            try await store.count("select risk_tier from public.turns where id = \(first.turnID.uuid) and not risk_is_decided") == 1)
        #expect(try await turns.begin(caller, request, risk: .danger(.concern)).begun.earlierRisk == nil)
    }

    @Test("an orphan has the stop that was requested; the answer of a stopped retry, delivered late, supersedes the restored one")
    func stopRequested() async throws {
        let store = try await StoreFixture.shared()
        let (caller, earlier) = (Caller.someone(), try await TestInstance(store))
        let first = try await earlier.turns.talk(caller, "Hello", answer: "First")
        let retry = try await earlier.turns.retry(caller, first.turnID).begun.identity
        let peer = try await TestInstance(store, of: earlier.instance)
        #expect(try await orphan(of: retry, peer).isStopRequested == false)
        #expect(try await peer.turns.requestStop(caller, retry.turnID))
        let orphan = try await orphan(of: retry, peer)
        #expect(orphan.isStopRequested && orphan.content == "")

        func answers() async throws -> [String] {
            let messages = try await store.conversations.messages(caller, first.conversationID, limit: 20).items
            return messages.filter { $0.role == .assistant }.map { "\($0.content) \($0.status.rawValue)" }
        }
        var receipt = estimate(orphan)
        (receipt.status, receipt.finishReason) = (.stopped, .stopped)
        #expect(try await peer.turns.finish(receipt) == .finalized)
        #expect(try await answers() == ["First complete"])
        #expect(try await peer.turns.load(retry.turnID, for: caller)?.finishReason == .stopped)
        #expect(try await peer.turns.finish(.complete(retry, of: caller, "Second")) == .finalized)
        #expect(try await answers() == ["First superseded", "Second complete"])
    }

    @Test("a turn that a failover brought back after its end is an orphan for its owner, which still renews its lease, after five minutes")
    func broughtBack() async throws {
        let store = try await StoreFixture()
        let (caller, living, peer) = (Caller.someone(), try await TestInstance(store), try await TestInstance(store))
        let identity = try await living.begin(caller)
        _ = try await living.turns.checkpoint([.first(identity, of: caller, "Half")])
        let row = try await store.value("select to_jsonb(r)::text from gateway.running_turns r")
        try await living.turns.finish(.complete(identity, of: caller, "Half and whole"))
        try await store.admin.execute(
            "insert into gateway.running_turns select * from jsonb_populate_record(null::gateway.running_turns, \(row)::jsonb)")
        func orphans(of instance: TestInstance, minutesAfterItBegan minutes: Int) async throws -> [OrphanedTurn] {
            try await store.admin.execute("update gateway.running_turns set started_at = now() - make_interval(mins => \(minutes))")
            for each in [living, peer] { _ = try await each.turns.renewLease() }
            return try await instance.turns.orphans()
        }
        #expect(try await orphans(of: living, minutesAfterItBegan: 4) == [], "it may run")
        #expect(try await orphans(of: peer, minutesAfterItBegan: 6) == [], "its owner lives")
        let orphan = try #require(try await orphans(of: living, minutesAfterItBegan: 6).first)
        #expect(orphan.facts.identity == identity && orphan.content == "Half")
    }

    @Test("the crashed owner's receipt, delivered late, replaces the estimate")
    func lateReceipt() async throws {
        let store = try await StoreFixture.shared()
        let caller = Caller.someone()
        let (identity, peer) = try await orphaned(store, caller) { [.first($0, of: caller, "Half")] }
        let recovered = estimate(try await orphan(of: identity, peer))
        #expect(try await peer.turns.finish(recovered) == .finalized)
        #expect(try await peer.turns.finish(.complete(identity, of: caller, "Half and whole")) == .finalized)
        #expect(try await peer.turns.finish(recovered) == .alreadyFinalized)
        let known = try #require(try await peer.turns.load(identity.turnID, for: caller))
        #expect(known.status == .complete && known.content == "Half and whole" && known.bill?.cost == Nanodollars(123_456))
        #expect(
            try await store.value("select spent_usd::text from public.budgets where user_id = \(caller.userID.uuid)") == "0.000123456")
    }
}
