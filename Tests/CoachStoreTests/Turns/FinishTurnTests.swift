import CoachCore
import CoachStore
import Foundation
import PostgresClient
import Testing

@Suite("Finishing a turn")
struct FinishTurnTests {
    private func begun(_ store: StoreFixture, _ caller: Caller, persona: PersonaID? = nil) async throws -> TurnIdentity {
        try await store.turns().begin(caller, TurnRequest(message: "Hello", personaID: persona), risk: .calm).begun.identity
    }

    /// The ledger's row as `tokens_in|tokens_out|cost|estimated|finalized_by`.
    private func ledger(_ store: StoreFixture, _ identity: TurnIdentity) async throws -> [String] {
        try await store.admin.query(
            """
            select concat_ws('|', coalesce(tokens_in::text, '-'), coalesce(tokens_out::text, '-'), coalesce(cost_usd::text, '-'), estimated, finalized_by)
            from public.model_calls where turn_id = \(identity.turnID.uuid) order by attempt
            """
        ) { rows in try rows.map { row in try row.value(0) } }
    }

    private func budget(_ store: StoreFixture, _ caller: Caller) async throws -> String? {
        try await store.value(
            "select concat_ws('|', spent_usd, unpriced_turns) from public.budgets where user_id = \(caller.userID.uuid)")
    }

    @Test("answer, ledger, budget, turn and conversation are written together, and a repetition changes nothing")
    func finishTwice() async throws {
        let store = try await StoreFixture.shared()
        let caller = Caller.someone()
        let identity = try await begun(store, caller)
        let receipt = TurnReceipt.complete(identity, of: caller, "Tell me more.")
        #expect(try await store.turns().finish(receipt) == .finalized)
        var other = receipt
        other.content = "Something else."
        other.bill?.cost = Nanodollars(1)
        #expect(try await store.turns().finish(other) == .alreadyFinalized)

        #expect(try await ledger(store, identity) == ["100|25|0.000123456|f|owner"])
        #expect(try await budget(store, caller) == "0.000123456|0")
        #expect(
            try await store.value(
                """
                select concat_ws('|', id, role, content, status, domain, token_count, seq) from public.messages
                where turn_id = \(identity.turnID.uuid) and role = 'assistant'
                """) == "\(identity.messageID)|assistant|Tell me more.|complete|mindset|4|2")
        #expect(
            try await store.value(
                """
                select concat_ws('|', status, finish_reason, domain, domain_confidence, domain_source, time_to_first_token_ms, duration_ms)
                from public.turns where id = \(identity.turnID.uuid)
                """) == "complete|stop|mindset|0.75|message|120|900")
        #expect(
            try await store.value("select domain from public.conversations where id = \(identity.conversationID.uuid)") == "mindset")
    }

    @Test("answer, turn, budget and the ledger's row are of one transaction, which the row names")
    func oneTransaction() async throws {
        let store = try await StoreFixture.shared()
        let caller = Caller.someone()
        let identity = try await begun(store, caller)
        try await store.turns().finish(.complete(identity, of: caller, "Tell me more."))
        let transactions: Query = """
            select count(distinct xid) || ' of ' || count(*) from (
                select m.xmin::text from public.messages m where m.id = \(identity.messageID.uuid)
                union all select t.xmin::text from public.turns t where t.id = \(identity.turnID.uuid)
                union all select b.xmin::text from public.budgets b where b.user_id = \(caller.userID.uuid)
                union all select l.xmin::text from public.usage_logs l where l.turn_id = \(identity.turnID.uuid) and l.revision = 1
                union all select l.booked_in::xid::text from public.usage_logs l where l.turn_id = \(identity.turnID.uuid) and l.revision = 1
            ) as row (xid)
            """
        #expect(try await store.value(transactions) == "1 of 5")
    }

    @Test("an answer updates its conversation, but not its position in the list")
    func place() async throws {
        let store = try await StoreFixture.shared()
        let caller = Caller.someone()
        let identity = try await store.turns().begin(caller, TurnRequest(message: "Hello"), risk: .calm).begun.identity
        let begun = try await store.conversations.get(caller, identity.conversationID)
        try await store.turns().finish(.complete(identity, of: caller))
        let answered = try await store.conversations.get(caller, identity.conversationID)
        #expect(answered.lastMessageAt == begun.lastMessageAt && answered.updatedAt > begun.updatedAt)
        try await store.turns().talk(caller, "Again", in: identity.conversationID)
        #expect(try await store.conversations.get(caller, identity.conversationID).lastMessageAt > answered.lastMessageAt)
    }

    @Test("twenty concurrent deliveries of one receipt have the effect of one")
    func race() async throws {
        let store = try await StoreFixture.shared()
        let caller = Caller.someone()
        let identity = try await begun(store, caller)
        let (turns, receipt) = (store.turns(), TurnReceipt.complete(identity, of: caller))
        let outcomes = try await withThrowingTaskGroup(of: ReceiptOutcome.self) { group in
            for _ in 0..<20 { group.addTask { try await turns.finish(receipt) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(outcomes.count { $0 == .finalized } == 1 && outcomes.count { $0 == .alreadyFinalized } == 19)
        #expect(try await budget(store, caller) == "0.000123456|0")
    }

    @Test("a failed turn writes no answer, and a bill only if a provider accepted the call")
    func failed() async throws {
        let store = try await StoreFixture.shared()
        let caller = Caller.someone()
        let first = try await begun(store, caller)
        try await store.turns().finish(.failed(first, of: caller))
        #expect(try await ledger(store, first) == [])
        #expect(try await store.count("select count(*) from public.budgets where user_id = \(caller.userID.uuid)") == 0)

        let second = try await begun(store, caller)
        var receipt = TurnReceipt.failed(second, of: caller)
        receipt.bill = TurnReceipt.complete(second, of: caller).bill
        try await store.turns().finish(receipt)
        #expect(try await ledger(store, second).count == 1)
        #expect(
            try await store.count("select count(*) from public.messages where user_id = \(caller.userID.uuid) and role = 'assistant'") == 0)
        let known = try #require(try await store.turns().load(second.turnID, for: caller))
        #expect(known.status == .failed && known.errorCode == "EXT_4001" && known.content.isEmpty)
    }

    @Test("unknown tokens and an unknown price stay unknown, and are counted")
    func unknown() async throws {
        let store = try await StoreFixture.shared()
        let caller = Caller.someone()
        let identity = try await begun(store, caller)
        var receipt = TurnReceipt.complete(identity, of: caller, cost: nil)
        receipt.bill?.usage = TokenUsage()
        receipt.bill?.estimated = true
        try await store.turns().finish(receipt)
        #expect(try await ledger(store, identity) == ["-|-|-|t|owner"])
        #expect(try await budget(store, caller) == "0.000000000|1")
        #expect(try await store.turns().load(identity.turnID, for: caller)?.bill == receipt.bill)
    }

    @Test("costs are stored exactly, to the nanodollar", arguments: [0, 1, 999_999_999, 1_000_000_001, 99_999_999_999_999_999])
    func money(raw: Int64) async throws {
        let store = try await StoreFixture.shared()
        let caller = Caller.someone()
        let identity = try await begun(store, caller)
        try await store.turns().finish(.complete(identity, of: caller, cost: Nanodollars(raw)))
        #expect(try await store.turns().load(identity.turnID, for: caller)?.bill?.cost == Nanodollars(raw))
        let (whole, fraction) = raw.quotientAndRemainder(dividingBy: 1_000_000_000)
        let expected = "\(whole)." + String(repeating: "0", count: 9 - "\(fraction)".count) + "\(fraction)"
        #expect(
            try await store.value("select cost_usd::text from public.model_calls where turn_id = \(identity.turnID.uuid)") == expected)
    }

    @Test("the owner's receipt replaces an estimate of recovery, and an estimate does not replace a receipt")
    func finalizer() async throws {
        let store = try await StoreFixture.shared()
        let caller = Caller.someone()
        let identity = try await begun(store, caller)
        func recover(cost: Int64) async throws -> String? {
            let receipt = """
                {"conversation_id": "\(identity.conversationID)", "turn_id": "\(identity.turnID)", "attempt": 1, "status": "interrupted", "error_code": "SYS_5000", "content": "Tell",
                 "bill": {"provider": "simulator", "model": "coach-sim", "input": 10, "output": 1, "cost_nanodollars": \(cost), "estimated": true},
                 "domain": {"domain": null, "confidence": 0, "source": "abstained"},
                 "risk": {"tier": 0, "categories": [], "subject": "unclear", "patterns": []}, "duration_ms": 5, "finalized_by": "recovery"}
                """
            return try await store.gateway.batch([
                "select set_config('request.jwt.claims', \(caller.claims), true), set_config('request.jwt.claim.sub', \(caller.userID), true)",
                "select gateway.finish_turn(\(caller.userID), \(receipt)::jsonb) ->> 'outcome'",
            ]) { rows in try rows.only { row in try row.value(0) } }
        }
        #expect(try await recover(cost: 900_000) == "finalized")
        #expect(try await ledger(store, identity) == ["10|1|0.000900000|t|recovery"])
        #expect(try await recover(cost: 5) == "already_finalized")
        #expect(try await store.turns().load(identity.turnID, for: caller)?.status == .interrupted)

        #expect(try await store.turns().finish(.complete(identity, of: caller, "Tell me more.")) == .finalized)
        #expect(try await ledger(store, identity) == ["100|25|0.000123456|f|owner"])
        #expect(try await budget(store, caller) == "0.000123456|0")
        let known = try #require(try await store.turns().load(identity.turnID, for: caller))
        #expect(known.status == .complete && known.content == "Tell me more.")
        #expect(try await recover(cost: 7) == "already_finalized")
        #expect(try await ledger(store, identity) == ["100|25|0.000123456|f|owner"])
        #expect(try await store.count("select count(*) from public.messages where turn_id = \(identity.turnID.uuid)") == 2)
    }

    @Test("a late receipt of an earlier attempt is booked without affecting the later attempt")
    func lateReceipt() async throws {
        let store = try await StoreFixture.shared()
        let caller = Caller.someone()
        let request = TurnRequest(message: "Hello", idempotencyKey: "k")
        let first = try await store.turns().begin(caller, request, risk: .calm).begun.identity
        var estimate = TurnReceipt.failed(first, of: caller)
        estimate.finalizedBy = .recovery
        try await store.turns().finish(estimate)
        let second = try await store.turns().begin(caller, request, risk: .calm).begun.identity
        #expect(second.attempt == 2)
        #expect(try await store.turns().finish(.complete(first, of: caller, "Late.")) == .superseded)
        #expect(try await store.turns().load(first.turnID, for: caller)?.status == .running)
        try await store.turns().finish(.complete(second, of: caller, "In time."))
        #expect(try await store.turns().load(first.turnID, for: caller)?.content == "In time.")
        #expect(try await ledger(store, first).count == 2)
        #expect(try await budget(store, caller) == "0.000246912|0")
    }

    @Test("a turn cannot be finished for another user")
    func stranger() async throws {
        let store = try await StoreFixture.shared()
        let (owner, stranger) = (Caller.someone(), Caller.someone())
        let identity = try await begun(store, owner)
        #expect(try await store.turns().finish(.complete(identity, of: stranger)) == .unknownTurn)
        #expect(try await store.turns().load(identity.turnID, for: owner)?.status == .running)
    }

    @Test("the safety level is stored per persona, lifts the limits of all, and decays after one and after two days")
    func safetyState() async throws {
        let store = try await StoreFixture.shared()
        let caller = Caller.someone()
        let persona = try await store.persona()
        let identity = try await begun(store, caller, persona: persona)
        try await store.turns().finish(.complete(identity, of: caller, risk: .danger(.high)))

        let closed = TierBook([Tier("free", requestsPerMinute: 0)])
        func levels(_ persona: PersonaID?) async throws -> [SafetyLevel] {
            let turns = store.turns(closed)
            let context = try await turns.begin(caller, TurnRequest(message: "Hi", personaID: persona), risk: .calm).begun
            try await turns.finish(.failed(context.identity, of: caller))
            return [context.safetyLevel, context.highestLevel]
        }
        func silence(hours: Int) async throws {
            try await store.admin.execute(
                "update public.safety_states set raised_at = now() - \(hours) * interval '1 hour' where user_id = \(caller.userID.uuid)")
        }
        #expect(try await levels(persona) == [.high, .high])
        #expect(try await levels(nil) == [.calm, .high])
        try await silence(hours: 23)
        #expect(try await levels(persona) == [.high, .high])
        try await silence(hours: 25)
        #expect(try await levels(persona) == [.concern, .concern])
        #expect(try await levels(nil) == [.calm, .concern])
        try await silence(hours: 49)
        let rejection = try await store.turns(closed).begin(caller, TurnRequest(message: "Hi", personaID: persona), risk: .calm).rejection
        #expect(
            rejection
                == Rejection(reason: .rateLimited, retryAfter: rejection.retryAfter, limit: 0, resetAt: rejection.resetAt, tier: "free"))
    }

    @Test("a receipt waits for a lock 100 ms at a time, does not block its connection, and is written when the lock is free")
    func contention() async throws {
        let store = try await StoreFixture()
        let caller = Caller.someone()
        let identity = try await begun(store, caller)
        let receipt = TurnReceipt.complete(identity, of: caller)
        try await store.admin.withConnection { lease in
            try await lease.execute("begin")
            try await lease.execute("select from gateway.running_turns where turn_id = \(identity.turnID.uuid) for update")
            let started = ContinuousClock.now
            let error = await #expect(throws: PostgresError.self) {
                try await store.gateway.batch([
                    "select set_config('request.jwt.claims', \(caller.claims), true), set_config('request.jwt.claim.sub', \(caller.userID), true)",
                    "select gateway.finish_turn(\(caller.userID), jsonb_build_object('conversation_id', \(identity.conversationID.uuid)::uuid, 'turn_id', \(identity.turnID.uuid)::uuid, 'attempt', 1))",
                ]) { _ in }
            }
            #expect(error?.isLockTimeout == true)
            #expect(ContinuousClock.now - started < .seconds(5))
            // The role's own limit is longer.
            let settings = try await store.value("select proconfig::text from pg_proc where oid = 'gateway.finish_turn'::regproc")
            #expect(settings?.contains("lock_timeout=100ms") == true)
            let finished = Task { try await store.turns().finish(receipt) }
            let waits: Query = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
            while try await store.count(waits) == 0 { await Task.yield() }
            try await lease.execute("rollback")
            #expect(try await finished.value == .finalized)
        }
    }

    @Test("an answer whose row exists already replaces it")
    func upsert() async throws {
        let store = try await StoreFixture.shared()
        let caller = Caller.someone()
        let identity = try await begun(store, caller)
        try await store.admin.execute(
            """
            insert into public.messages (user_id, id, conversation_id, turn_id, seq, role, content, status, token_count)
            values (\(caller.userID.uuid), \(identity.messageID.uuid), \(identity.conversationID.uuid), \(identity.turnID.uuid), 2, 'assistant',
                'Half', 'interrupted', 1)
            """)
        #expect(try await store.turns().finish(.complete(identity, of: caller, "Whole.")) == .finalized)
        let known = try #require(try await store.turns().load(identity.turnID, for: caller))
        #expect(known.content == "Whole." && known.status == .complete)
    }

    @Test("a rejected receipt can be replaced by a failure, and counts if it is accepted later")
    func refused() async throws {
        let store = try await StoreFixture.shared()
        let caller = Caller.someone()
        let identity = try await begun(store, caller)
        let bad = TurnReceipt.complete(identity, of: caller, "a\0b")
        await #expect(throws: StoreFault.self) { try await store.turns().finish(bad) }
        #expect(try await store.turns().finish(bad.failures[0]) == .finalized)
        let known = try #require(try await store.turns().load(identity.turnID, for: caller))
        #expect(known.status == .failed && known.errorCode == "SYS_5000" && known.content.isEmpty)
        #expect(try await store.count("select count(*) from gateway.running_turns where turn_id = \(identity.turnID.uuid)") == 0)
        #expect(try await store.turns().finish(.complete(identity, of: caller, "ab")) == .finalized)
        #expect(try await store.turns().load(identity.turnID, for: caller)?.content == "ab")
        #expect(try await budget(store, caller) == "0.000123456|0")
    }
}
