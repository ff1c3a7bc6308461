import CoachCore
import CoachStore
import Foundation
import PostgresClient
import Testing

@Suite("Ledger")
struct LedgerTests {
    /// `revision|finalized_by|tokens_in|tokens_out|cost|unpriced` of each row of a turn.
    private func rows(_ store: StoreFixture, _ identity: TurnIdentity) async throws -> [String] {
        try await store.admin.query(
            """
            select concat_ws('|', revision, coalesce(finalized_by::text, '-'), coalesce(tokens_in::text, '-'), coalesce(tokens_out::text, '-'),
                coalesce(cost_usd::text, '-'), unpriced)
            from public.usage_logs where turn_id = \(identity.turnID.uuid) order by attempt, call, revision
            """
        ) { rows in try rows.map { row in try row.value(0) } }
    }

    private func estimate(_ identity: TurnIdentity, of caller: Caller, cost: Nanodollars?) -> TurnReceipt {
        var receipt = TurnReceipt.complete(identity, of: caller, "Half")
        receipt.status = .interrupted
        receipt.finishReason = nil
        receipt.bill?.usage = TokenUsage(input: 10, output: 1)
        receipt.bill?.cost = cost
        receipt.bill?.estimated = true
        receipt.finalizedBy = .recovery
        return receipt
    }

    private func spent(_ store: StoreFixture, _ caller: Caller) async throws -> String? {
        try await store.value("select concat_ws('|', spent_usd, unpriced_turns) from public.budgets where user_id = \(caller.userID.uuid)")
    }

    @Test("a call is recorded before it is made, then its receipt; the owner's correction is recorded as the difference")
    func revisions() async throws {
        let store = try await StoreFixture.shared()
        let (caller, turns) = (Caller.someone(), store.turns())
        let identity = try await turns.begin(caller, TurnRequest(message: "Hello"), risk: .calm).begun.identity
        #expect(try await rows(store, identity) == ["0|-|-|-|-|0"])
        try await turns.finish(estimate(identity, of: caller, cost: Nanodollars(900)))
        #expect(try await rows(store, identity).last == "1|recovery|10|1|0.000000900|0")
        try await turns.finish(.complete(identity, of: caller))
        #expect(
            try await rows(store, identity) == ["0|-|-|-|-|0", "1|recovery|10|1|0.000000900|0", "2|owner|90|24|0.000122556|0"])
        #expect(try await spent(store, caller) == "0.000123456|0")
        let known = try #require(try await turns.load(identity.turnID, for: caller))
        #expect(known.bill == TurnReceipt.complete(identity, of: caller).bill)
    }

    @Test("an unpriced call is counted until a correction has the price, and vice versa")
    func unpriced() async throws {
        let store = try await StoreFixture.shared()
        let (caller, turns) = (Caller.someone(), store.turns())
        let identity = try await turns.begin(caller, TurnRequest(message: "Hello"), risk: .calm).begun.identity
        try await turns.finish(estimate(identity, of: caller, cost: nil))
        #expect(try await spent(store, caller) == "0.000000000|1")
        try await turns.finish(.complete(identity, of: caller))
        #expect(try await rows(store, identity).last == "2|owner|90|24|0.000123456|-1")
        #expect(try await spent(store, caller) == "0.000123456|0")

        let other = try await turns.begin(caller, TurnRequest(message: "Hello"), risk: .calm).begun.identity
        try await turns.finish(estimate(other, of: caller, cost: Nanodollars(456)))
        try await turns.finish(.complete(other, of: caller, cost: nil))
        #expect(try await rows(store, other).last == "2|owner|90|24|-0.000000456|1")
        #expect(try await spent(store, caller) == "0.000123456|1")
        #expect(try await turns.load(other.turnID, for: caller)?.bill?.cost == nil)
    }

    @Test("an owner's receipt without an accepted call cancels an estimate")
    func free() async throws {
        let store = try await StoreFixture.shared()
        let (caller, turns) = (Caller.someone(), store.turns())
        let identity = try await turns.begin(caller, TurnRequest(message: "Hello"), risk: .calm).begun.identity
        try await turns.finish(estimate(identity, of: caller, cost: Nanodollars(900)))
        try await turns.finish(.failed(identity, of: caller))
        #expect(try await rows(store, identity).last == "2|owner|-10|-1|-0.000000900|0")
        #expect(try await spent(store, caller) == "0.000000000|0")
    }

    @Test("the gateway's role can neither change nor remove a row")
    func appendOnly() async throws {
        let store = try await StoreFixture.shared()
        let caller = Caller.someone()
        let identity = try await store.turns().talk(caller, "Hello")
        for statement in ["update public.usage_logs set cost_usd = 0", "delete from public.usage_logs"] {
            await #expect(throws: PostgresError.self) { try await store.gateway.execute(Query(unsafeSQL: statement)) }
        }
        #expect(try await rows(store, identity).count == 2)
    }

    @Test("the owner of the tables can neither, through the table, a partition, or the one of days without a partition")
    func appendOnlyForOwner() async throws {
        let store = try await StoreFixture()
        let identity = try await store.turns().talk(.someone(), "Hello")
        let owner: Query = "select (relowner = current_user::regrole)::text from pg_class where oid = 'public.usage_logs'::regclass"
        #expect(try await store.value(owner) == "true")
        let today = try #require(try await store.value("select to_char(now() at time zone 'UTC', 'YYYYMMDD')"))
        for table in ["public.usage_logs", "ledger.usage_logs_\(today)", "ledger.usage_logs_other"] {
            for statement in ["update \(table) set cost_usd = 0", "delete from \(table)", "truncate \(table)"] {
                let error = await #expect(throws: PostgresError.self, "\(statement)") {
                    try await store.admin.execute(Query(unsafeSQL: statement))
                }
                #expect(error?.sqlState == "23000" && error?.message.contains("is append-only") == true, "\(statement)")
            }
        }
        #expect(try await rows(store, identity).count == 2)
    }

    @Test("a partition is append-only from its creation on, whatever was moved into it, and still when its day is detached")
    func appendOnlyPartitions() async throws {
        let store = try await StoreFixture()
        let open: Query = """
            select count(*) from pg_class c
            where c.relnamespace = 'ledger'::regnamespace and c.relkind = 'r' and c.relname ~ '^usage_logs_'
                and not exists (select from pg_trigger t where t.tgrelid = c.oid and t.tgname = 'append_only' and t.tgenabled = 'O')
            """
        #expect(try await store.count(open) == 0)
        try await store.admin.execute(
            """
            insert into public.usage_logs (account_id, day, turn_id, attempt, call, revision, purpose, tier)
            values (gen_random_uuid(), (now() at time zone 'UTC')::date + 20, gen_random_uuid(), 1, 1, 0, 'chat', 'free')
            """)
        #expect(try await store.count("select gateway.make_usage_partitions(21)") > 0)
        #expect(try await store.count("select count(*) from ledger.usage_logs_other") == 0)
        #expect(try await store.count(open) == 0)
        let day = try #require(try await store.value("select to_char((now() at time zone 'UTC')::date + 20, 'YYYYMMDD')"))
        try await store.admin.execute(Query(unsafeSQL: "alter table public.usage_logs detach partition ledger.usage_logs_\(day)"))
        await #expect(throws: PostgresError.self) {
            try await store.admin.execute(Query(unsafeSQL: "delete from ledger.usage_logs_\(day)"))
        }
        try await store.admin.execute(Query(unsafeSQL: "drop table ledger.usage_logs_\(day)"))
    }

    @Test("counts beyond 32 bits are kept")
    func wide() async throws {
        let store = try await StoreFixture.shared()
        let (caller, turns) = (Caller.someone(), store.turns())
        let identity = try await turns.begin(caller, TurnRequest(message: "Hello"), risk: .calm).begun.identity
        var receipt = TurnReceipt.complete(identity, of: caller)
        receipt.bill?.usage = TokenUsage(input: 3_000_000_000, cachedInput: 1 << 50, output: 5_000_000_000)
        #expect(try await turns.finish(receipt) == .finalized)
        #expect(try await turns.load(identity.turnID, for: caller)?.bill?.usage == receipt.bill?.usage)
    }

    @Test("each row has the transaction that booked it")
    func transaction() async throws {
        let store = try await StoreFixture.shared()
        let identity = try await store.turns().talk(.someone(), "Hello")
        #expect(
            try await store.value(
                """
                select count(distinct booked_in)::text || ' ' || bool_and(booked_in < pg_snapshot_xmax(pg_current_snapshot()))
                from public.usage_logs where turn_id = \(identity.turnID.uuid)
                """) == "2 true")
    }

    @Test("a receipt is booked, in ledger and budget, on the day on which its attempt began")
    func day() async throws {
        let store = try await StoreFixture.shared()
        let (caller, turns) = (Caller.someone(), store.turns(TierBook(reservePerTurn: Nanodollars(400))))
        let request = TurnRequest(message: "Hello", idempotencyKey: "k")
        let first = try await turns.begin(caller, request, risk: .calm).begun
        // As if it had begun yesterday, before midnight.
        let yesterday = CalendarDay(daysSinceEpoch: first.day.daysSinceEpoch - 1).description
        for table in ["public.turns", "gateway.running_turns", "public.budgets"] {
            try await store.admin.execute(
                Query(unsafeSQL: "update \(table) set day = '\(yesterday)' where user_id = '\(caller.userID)'"))
        }
        try await store.rewriteLedger(
            "update public.usage_logs set day = \(yesterday)::date where turn_id = \(first.identity.turnID.uuid)")
        try await store.admin.execute(
            "update public.turns set created_at = created_at - interval '1 day' where id = \(first.identity.turnID.uuid)")
        try await turns.finish(.failed(first.identity, of: caller))
        let second = try await turns.begin(caller, request, risk: .calm).begun
        #expect(second.day == first.day && second.identity.attempt == 2)
        var late = TurnReceipt.complete(first.identity, of: caller)
        late.bill?.cost = Nanodollars(100)
        // The owner had ended the first attempt as failed. A later receipt of recovery changes nothing; in the second attempt, the first
        // one's receipt is booked.
        #expect(try await turns.finish(late) == .superseded)
        try await turns.finish(.complete(second.identity, of: caller, cost: Nanodollars(200)))
        let ledger: Query = """
            select string_agg(day || ' ' || cost, ', ' order by day) from (
                select day::text, sum(cost_usd)::text as cost from public.usage_logs where turn_id = \(first.identity.turnID.uuid) group by day) x
            """
        let budgets: Query = """
            select string_agg(day || ' ' || spent_usd, ', ' order by day) from public.budgets
            where user_id = \(caller.userID.uuid) and reserved_usd = 0
            """
        let expected = "\(yesterday) 0.000000100, \(first.day) 0.000000200"
        #expect(try await store.value(ledger) == expected)
        #expect(try await store.value(budgets) == expected)
    }

    @Test("a user reads the rows and totals of their own account only")
    func reading() async throws {
        let store = try await StoreFixture.shared()
        let (caller, neighbour) = (Caller.someone(), Caller.someone())
        for user in [caller, neighbour] { try await store.turns().talk(user, "Hello") }
        for table in ["public.usage_logs", "public.model_calls"] {
            let seen: [Int] = try await store.gateway.batch([
                "select set_config('request.jwt.claims', \(caller.claims), true), set_config('role', 'authenticated', true)",
                Query(unsafeSQL: "select count(*) from \(table)"),
            ]) { rows in try rows.map { row in try row.value(0) } }
            #expect(seen == [table == "public.usage_logs" ? 2 : 1])
        }
    }

    @Test("rows of a day without a partition are kept, and move when it is created; concurrent creation is safe")
    func partitions() async throws {
        let store = try await StoreFixture()
        let caller = Caller.someone()
        try await store.turns().talk(caller, "Hello")
        try await store.admin.execute(
            """
            insert into public.usage_logs (account_id, day, turn_id, attempt, call, revision, purpose, tier)
            select account_id, (now() at time zone 'UTC')::date + 20, gen_random_uuid(), 1, 1, 0, 'chat', 'free' from public.users
            where id = \(caller.userID.uuid)
            """)
        let other: Query = "select count(*) from ledger.usage_logs_other"
        #expect(try await store.count(other) == 1)
        let made = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<2 {
                group.addTask {
                    try await store.gateway.query("select gateway.make_usage_partitions(21)") { rows in
                        try rows.only { row in try row.value(0) }
                    }
                }
            }
            return try await group.reduce(0, +)
        }
        #expect(made == 7)
        #expect(try await store.count(other) == 0)
        #expect(try await store.count("select count(*) from public.usage_logs") == 3)
        #expect(try await Housekeeping.postgres(client: store.gateway, daysKept: 1).makePartitions() == 0)
    }
}
