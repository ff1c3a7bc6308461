import CoachCore
import CoachStore
import PostgresClient
import Testing

@Suite("Calls beside the one that answered")
struct OtherCallsTests {
    private static func bill(output: Int, cost: Int64 = 1_000, estimated: Bool = true) -> TurnBill {
        TurnBill(
            name: ModelName(provider: "slow", model: "m"),
            usage: TokenUsage(input: 90, cachedInput: 0, cacheWrite: 0, output: output, reasoning: 0),
            cost: Nanodollars(cost), estimated: estimated)
    }

    private static func refused(_ number: Int) -> BilledCall {
        BilledCall(number: number, name: ModelName(provider: "down", model: "m"), bill: nil)
    }

    private static func accepted(_ number: Int, _ bill: TurnBill = bill(output: 3)) -> BilledCall {
        BilledCall(number: number, name: ModelName(provider: "slow", model: "m"), bill: bill)
    }

    private func receipt(_ identity: TurnIdentity, of caller: Caller) -> TurnReceipt {
        var receipt = TurnReceipt.complete(identity, of: caller)
        receipt.otherCalls = [Self.refused(3), Self.accepted(4)]
        return receipt
    }

    private func recovered(_ identity: TurnIdentity, of caller: Caller, _ calls: [BilledCall]) -> TurnReceipt {
        var receipt = TurnReceipt.complete(identity, of: caller)
        receipt.finalizedBy = .recovery
        receipt.status = .interrupted
        receipt.finishReason = nil
        receipt.otherCalls = calls
        return receipt
    }

    private func record(
        _ store: StoreFixture, _ caller: Caller, _ identity: TurnIdentity, _ number: Int, _ purpose: CallPurpose = .answer
    ) async throws -> Bool {
        let day = try await store.value(
            "select max(day)::text from public.usage_logs where turn_id = \(identity.turnID.uuid) and attempt = \(identity.attempt) and call = 1"
        )
        return try await CallLedger.postgres(client: store.gateway).record(
            PendingCall(
                userID: caller.userID, turnID: identity.turnID, attempt: identity.attempt, number: number, purpose: purpose,
                day: day.flatMap { CalendarDay($0) } ?? CalendarDay(unixSeconds: 0)))
    }

    private func isBalanced(_ store: StoreFixture, _ caller: Caller) async throws -> Bool {
        try await store.value(
            """
            select (b.spent_usd = l.cost and b.tokens = l.tokens and b.unpriced_turns = l.unpriced)::text
            from public.budgets b
            cross join (
                select sum(l.cost_usd) as cost, sum(l.tokens_in + l.tokens_out) as tokens, sum(l.unpriced) as unpriced
                from public.usage_logs l join public.users u using (account_id) where u.id = \(caller.userID.uuid)) l
            where b.user_id = \(caller.userID.uuid)
            """) == "true"
    }

    private func rows(_ store: StoreFixture, _ identity: TurnIdentity) async throws -> [String] {
        try await store.admin.query(
            """
            select concat_ws('|', call, revision, provider, coalesce(tokens_in::text, '-'), coalesce(tokens_out::text, '-'),
                coalesce(cost_usd::text, '-'), unpriced, estimated, coalesce(finalized_by::text, '-'))
            from public.usage_logs where turn_id = \(identity.turnID.uuid) order by call, revision
            """
        ) { rows in try rows.map { row in try row.value(0, as: String.self) } }
    }

    @Test("have a row each, are paid for when a provider accepted them, and are written once")
    func booked() async throws {
        let store = try await StoreFixture.shared()
        let caller = Caller.someone()
        let identity = try await store.turns().begin(caller, TurnRequest(message: "Hello"), risk: .calm).begun.identity
        let receipt = receipt(identity, of: caller)
        #expect(try await store.turns().finish(receipt) == .finalized)
        #expect(try await store.turns().finish(receipt) == .alreadyFinalized)
        #expect(
            try await rows(store, identity) == [
                "1|0|-|-|-|0|f|-", "1|1|simulator|100|25|0.000123456|0|f|owner", "3|1|down|-|-|-|0|f|-",
                "4|1|slow|90|3|0.000001000|0|t|owner",
            ])
        let budget: String? = try await store.value(
            "select concat_ws('|', spent_usd, tokens, unpriced_turns) from public.budgets where user_id = \(caller.userID.uuid)")
        #expect(budget == "0.000124456|218|0")
    }

    @Test("each count where their cost is unknown")
    func unpriced() async throws {
        let store = try await StoreFixture.shared()
        let caller = Caller.someone()
        let identity = try await store.turns().begin(caller, TurnRequest(message: "Hello"), risk: .calm).begun.identity
        var receipt = TurnReceipt.complete(identity, of: caller, cost: nil)
        var bill = Self.bill(output: 3)
        bill.cost = nil
        receipt.otherCalls = [Self.accepted(3, bill), Self.accepted(4, bill), Self.accepted(5)]
        #expect(try await store.turns().finish(receipt) == .finalized)
        #expect(
            try await rows(store, identity) == [
                "1|0|-|-|-|0|f|-", "1|1|simulator|100|25|-|1|f|owner", "3|1|slow|90|3|-|1|t|owner", "4|1|slow|90|3|-|1|t|owner",
                "5|1|slow|90|3|0.000001000|0|t|owner",
            ])
        let budget: String? = try await store.value(
            "select concat_ws('|', spent_usd, unpriced_turns) from public.budgets where user_id = \(caller.userID.uuid)")
        #expect(budget == "0.000001000|3")
    }

    @Test("are recorded before their requests leave, once, and end with the receipt; one that was not made has failed")
    func recorded() async throws {
        let store = try await StoreFixture.shared()
        let caller = Caller.someone()
        let identity = try await store.turns().begin(caller, TurnRequest(message: "Hello"), risk: .calm).begun.identity
        for _ in 1...2 { #expect(try await record(store, caller, identity, 2, .judge)) }
        for number in [3, 4, 5] { #expect(try await record(store, caller, identity, number)) }
        #expect(try await rows(store, identity) == (1...5).map { "\($0)|0|-|-|-|0|f|-" })
        var receipt = receipt(identity, of: caller)
        receipt.otherCalls?.insert(BilledCall(number: 2, purpose: .judge, name: nil, bill: nil), at: 0)
        for expected in [ReceiptOutcome.finalized, .alreadyFinalized] { #expect(try await store.turns().finish(receipt) == expected) }
        #expect(
            try await rows(store, identity).filter { !$0.contains("|0|-|-|-|0|f|-") } == [
                "1|1|simulator|100|25|0.000123456|0|f|owner", "2|1|-|-|-|0|f|-", "3|1|down|-|-|-|0|f|-",
                "4|1|slow|90|3|0.000001000|0|t|owner", "5|1|-|-|-|0|f|-",
            ])
        let purposes = try await store.value(
            """
            select string_agg(purpose::text, ' ' order by call) from public.usage_logs
            where turn_id = \(identity.turnID.uuid) and revision = 1
            """)
        #expect(purposes == "chat judge chat chat chat")
        #expect(try await isBalanced(store, caller))
    }

    @Test("cannot be recorded for another user's turn")
    func foreign() async throws {
        let store = try await StoreFixture.shared()
        let caller = Caller.someone()
        let identity = try await store.turns().begin(caller, TurnRequest(message: "Hello"), risk: .calm).begun.identity
        #expect(try await record(store, .someone(), identity, 3) == false)
        #expect(try await rows(store, identity).count == 1)
    }

    @Test("of a crashed instance end once, with a bill where one was recorded, else as failed; its late receipt books the difference")
    func late() async throws {
        let store = try await StoreFixture.shared()
        let caller = Caller.someone()
        let identity = try await store.turns().begin(caller, TurnRequest(message: "Hello"), risk: .calm).begun.identity
        for number in [3, 4] { _ = try await record(store, caller, identity, number) }
        for _ in 1...2 { try await store.turns().finish(recovered(identity, of: caller, [Self.accepted(3)])) }
        #expect(
            try await rows(store, identity).filter { $0.hasPrefix("3|") || $0.hasPrefix("4|") } == [
                "3|0|-|-|-|0|f|-", "3|1|slow|90|3|0.000001000|0|t|recovery", "4|0|-|-|-|0|f|-", "4|1|-|-|-|0|f|-",
            ])
        #expect(try await isBalanced(store, caller))
        var receipt = TurnReceipt.complete(identity, of: caller)
        receipt.otherCalls = [Self.refused(3), Self.accepted(4, Self.bill(output: 7, cost: 2_000, estimated: false))]
        for expected in [ReceiptOutcome.finalized, .alreadyFinalized] { #expect(try await store.turns().finish(receipt) == expected) }
        #expect(
            try await rows(store, identity).filter { $0.hasPrefix("3|2") || $0.hasPrefix("4|2") } == [
                "3|2|down|-90|-3|-0.000001000|0|f|owner", "4|2|slow|90|7|0.000002000|0|f|owner",
            ])
        #expect(try await isBalanced(store, caller))
    }

    @Test("that recovery has billed under numbers which the owner did not use count for nothing when its receipt comes")
    func otherNumbers() async throws {
        let store = try await StoreFixture.shared()
        let caller = Caller.someone()
        let identity = try await store.turns().begin(caller, TurnRequest(message: "Hello"), risk: .calm).begun.identity
        for number in [3, 4] { _ = try await record(store, caller, identity, number) }
        try await store.turns().finish(recovered(identity, of: caller, [Self.accepted(3)]))
        var receipt = TurnReceipt.complete(identity, of: caller)
        receipt.otherCalls = [Self.accepted(4)]
        for expected in [ReceiptOutcome.finalized, .alreadyFinalized] { #expect(try await store.turns().finish(receipt) == expected) }
        #expect(
            try await rows(store, identity).filter { $0.hasPrefix("3|") || $0.hasPrefix("4|") } == [
                "3|0|-|-|-|0|f|-", "3|1|slow|90|3|0.000001000|0|t|recovery", "3|2|-90|-3|-0.000001000|0|f|owner",
                "4|0|-|-|-|0|f|-", "4|1|-|-|-|0|f|-", "4|2|slow|90|3|0.000001000|0|t|owner",
            ])
        #expect(try await isBalanced(store, caller))
    }

    @Test("that come from disk after their attempt has ended are in the ledger once, whichever of record and receipt is first")
    func fromDisk() async throws {
        let store = try await StoreFixture.shared()
        for isRecordFirst in [true, false] {
            let caller = Caller.someone()
            let identity = try await store.turns().begin(caller, TurnRequest(message: "Hello"), risk: .calm).begun.identity
            try await store.turns().finish(recovered(identity, of: caller, []))
            var receipt = TurnReceipt.complete(identity, of: caller)
            receipt.otherCalls = [Self.accepted(3)]
            if !isRecordFirst { try await store.turns().finish(receipt) }
            for _ in 1...2 { #expect(try await record(store, caller, identity, 3)) }
            if isRecordFirst {
                #expect(try await rows(store, identity).suffix(2) == ["3|0|-|-|-|0|f|-", "3|1|-|-|-|0|f|-"])
                try await store.turns().finish(receipt)
            }
            let own = try await rows(store, identity).filter { $0.hasPrefix("3|") }
            let bill = "slow|90|3|0.000001000|0|t|owner"
            #expect(own == ["3|0|-|-|-|0|f|-"] + (isRecordFirst ? ["3|1|-|-|-|0|f|-", "3|2|\(bill)"] : ["3|1|\(bill)"]))
            #expect(try await isBalanced(store, caller))
        }
    }

    @Test("that come from disk while late receipts are booked lose no bill", arguments: 1...20)
    func fromDiskAtOnce(_: Int) async throws {
        let store = try await StoreFixture.shared()
        let caller = Caller.someone()
        let identity = try await store.turns().begin(caller, TurnRequest(message: "Hello"), risk: .calm).begun.identity
        try await store.turns().finish(recovered(identity, of: caller, []))
        var receipt = TurnReceipt.complete(identity, of: caller)
        receipt.otherCalls = [Self.accepted(3)]
        async let isRecorded = record(store, caller, identity, 3)
        try await store.turns().finish(receipt)
        let recorded = try await isRecorded
        #expect(recorded)
        #expect(try await rows(store, identity).filter { $0.hasPrefix("3|") && $0.hasSuffix("slow|90|3|0.000001000|0|t|owner") }.count == 1)
        #expect(try await isBalanced(store, caller))
    }

    @Test("of a turn that was removed meanwhile are not recorded")
    func removedTurn() async throws {
        let store = try await StoreFixture.shared()
        let caller = Caller.someone()
        let identity = try await store.turns().begin(caller, TurnRequest(message: "Hello"), risk: .calm).begun.identity
        try await store.turns().finish(.complete(identity, of: caller))
        try await store.admin.execute("delete from public.turns where id = \(identity.turnID.uuid)")
        #expect(try await record(store, caller, identity, 3) == false)
        #expect(try await rows(store, identity).count == 2)
    }

    @Test("of an attempt that has a later one are booked on its own day")
    func superseded() async throws {
        let store = try await StoreFixture.shared()
        let caller = Caller.someone()
        func begin() async throws -> TurnIdentity {
            try await store.turns().begin(caller, TurnRequest(message: "Hello", idempotencyKey: "k"), risk: .calm).begun.identity
        }
        let first = try await begin()
        _ = try await record(store, caller, first, 3)
        var failed = TurnReceipt.failed(first, of: caller)
        failed.finalizedBy = .recovery
        try await store.turns().finish(failed)
        let second = try await begin()
        #expect(second.turnID == first.turnID && second.attempt == 2)
        #expect(try await store.turns().finish(receipt(first, of: caller)) == .superseded)
        #expect(
            try await rows(store, first).filter { !$0.contains("|0|-|-|-|0|f|-") && !$0.hasPrefix("1|") } == [
                "3|1|-|-|-|0|f|-", "4|1|slow|90|3|0.000001000|0|t|owner",
            ])
    }
}
