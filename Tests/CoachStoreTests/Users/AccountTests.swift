import CoachCore
import CoachStore
import Foundation
import JSON
import PostgresClient
import Testing

@Suite("A user's account, consents and reports")
struct AccountTests {
    private func newcomer(_ store: StoreFixture) async throws -> Caller {
        let caller = Caller.someone()
        _ = try await store.requests().take(caller)
        return caller
    }

    private func accounts(_ store: StoreFixture, _ tiers: TierBook = TierBook()) -> AccountRepository {
        .postgres(client: store.gateway) { tiers }
    }

    @Test("fields are changed one by one, and cleared")
    func account() async throws {
        let store = try await StoreFixture.shared()
        let (caller, accounts) = (try await newcomer(store), accounts(store))
        let before = try await accounts.get(caller)
        #expect(before.id == caller.userID && before.displayName == nil && before.isMinor == nil)
        var patch = AccountPatch()
        patch.displayName = "Zoë"
        patch.country = "GB"
        patch.timeZone = "Europe/London"
        patch.isMinor = true
        let changed = try await accounts.patch(caller, patch)
        #expect(changed.displayName == "Zoë" && changed.country == "GB" && changed.timeZone == "Europe/London" && changed.isMinor == true)
        var clearing = AccountPatch()
        clearing.country = .some(nil)
        let cleared = try await accounts.patch(caller, clearing)
        #expect(cleared.country == nil && cleared.displayName == "Zoë")
        #expect(try await accounts.patch(caller, AccountPatch()) == cleared)
    }

    @Test("usage is that of the day and the month, for this user only")
    func usage() async throws {
        let store = try await StoreFixture.shared()
        let (caller, accounts) = (try await newcomer(store), accounts(store))
        #expect(try await accounts.usage(caller).turns == 0)
        for number in 1...2 { try await store.turns().talk(caller, "\(number)") }
        try await store.turns().talk(try await newcomer(store), "Somebody else")
        let usage = try await accounts.usage(caller)
        #expect(usage.messagesToday == 2 && usage.turns == 2 && usage.unpricedCalls == 0)
        #expect(usage.cost == Nanodollars(246_912) && usage.usage.input == 180 && usage.usage.output == 40)
        // A summary of last month's turn costs, but is no turn.
        try await store.admin.execute(
            """
            insert into public.usage_logs (account_id, day, turn_id, attempt, call, revision, purpose, tier, booked_at, finalized_by, status, cost_usd)
            select account_id, (now() at time zone 'UTC')::date, gen_random_uuid(), 1, 1000, 1, 'summary', 'free', now(), 'owner', 'complete', 0.000001
            from public.users where id = \(caller.userID.uuid)
            """)
        let later = try await accounts.usage(caller)
        #expect(later.turns == 2 && later.cost == Nanodollars(247_912))
    }

    @Test("usage says how many messages the user's tier leaves until midnight: those that begin_turn accepts")
    func allowance() async throws {
        let store = try await StoreFixture.shared()
        let caller = try await newcomer(store)
        let tiers = TierBook([Tier("free", messagesPerDay: 2), Tier("plus", entitlements: ["plus"])])
        let (accounts, turns) = (accounts(store, tiers), store.turns(tiers))
        for left in [2, 1] {
            let usage = try await accounts.usage(caller)
            #expect(usage.tier == "free" && usage.messagesPerDay == 2 && usage.messagesRemaining == left)
            try await turns.talk(caller, "Hello")
        }
        let spent = try await accounts.usage(caller)
        let refused = try await turns.begin(caller, TurnRequest(message: "One more"), risk: .calm).rejection
        #expect(spent.messagesRemaining == 0 && refused.reason == .quotaExhausted && refused.resetAt == spent.day.endUnixSeconds)
        // Counted before the database's clock was set back.
        try await store.admin.execute("update public.rate_limits set day = day + 1 where user_id = \(caller.userID.uuid)")
        #expect(try await accounts.usage(caller).messagesRemaining == 0)
        #expect(try await turns.begin(caller, TurnRequest(message: "One more"), risk: .calm).rejection.reason == .quotaExhausted)
        // In danger one is answered all the same.
        try await turns.finish(
            .complete(try await turns.begin(caller, TurnRequest(message: "Help"), risk: .danger(.high)).begun.identity, of: caller))
        #expect(try await accounts.usage(caller).messagesRemaining == 0)

        try await store.entitle(caller, to: "plus", for: 60)
        let unlimited = try await accounts.usage(caller)
        #expect(unlimited.tier == "plus" && unlimited.messagesPerDay == nil && unlimited.messagesRemaining == nil)
        // A change of the tiers by an operator.
        let changed = try await self.accounts(store, TierBook([Tier("new", messagesPerDay: 9)])).usage(caller)
        #expect(changed.tier == "new" && changed.messagesRemaining == 9 - changed.messagesToday)
    }

    @Test("usage reads the days of this month alone, however many the ledger has")
    func partitions() async throws {
        let store = try await StoreFixture.shared()
        let caller = try await newcomer(store)
        _ = try await Housekeeping.postgres(client: store.gateway, daysKept: 30).makePartitions()
        let later: Query = """
            c.relkind = 'r' and c.relname ~ '^usage_logs_2' and right(c.relname, 8) > to_char(now() at time zone 'UTC', 'YYYYMMDD')
            """
        #expect(try await store.count("select count(*) from pg_class c where \(later)") > 0)
        let locked = try await store.gateway.batch([
            """
            select set_config('request.jwt.claims', \(caller.claims), true), \
            set_config('request.jwt.claim.sub', \(caller.userID.description), true)
            """,
            "select turns from gateway.account_usage(\(caller.userID.uuid))",
            "select count(*) from pg_locks l join pg_class c on c.oid = l.relation where l.pid = pg_backend_pid() and \(later)",
        ]) { rows in try rows.only { row in try row.value(0, as: Int.self) } }
        #expect(locked == 0)
    }

    @Test("a removal needs the latest confirmation, which can be used once")
    func removal() async throws {
        let store = try await StoreFixture()
        let (caller, accounts) = (try await newcomer(store), accounts(store))
        let first = try await accounts.prepareRemoval(caller)
        let second = try await accounts.prepareRemoval(caller)
        for wrong in [first, "", "x"] { #expect(try await accounts.confirmRemoval(caller, wrong) == false) }
        let other = try await newcomer(store)
        #expect(try await accounts.confirmRemoval(other, second) == false)
        try await store.admin.execute(
            "update gateway.removal_confirmations set expires_at = now() where user_id = \(caller.userID.uuid)")
        #expect(try await accounts.confirmRemoval(caller, second) == false)
        let third = try await accounts.prepareRemoval(caller)
        #expect(try await accounts.confirmRemoval(caller, third))
        #expect(try await store.requests().rejection(of: caller) == .suspended)
        #expect(try await accounts.confirmRemoval(caller, third) == false)
        #expect(try await store.count("select count(*) from gateway.jobs where user_id = \(caller.userID.uuid)") == 1)
    }

    @Test("consents are kept in their order; one that repeats the latest adds no record")
    func consents() async throws {
        let store = try await StoreFixture.shared()
        let (caller, consents) = (try await newcomer(store), ConsentRepository.postgres(client: store.gateway))
        #expect(try await consents.current(caller).isEmpty)
        for (kind, version, granted) in [
            (.memory, "1", true), (.memory, "1", true), (.memory, "1", false), (.disclaimer, "2", true), (.memory, "3", false),
        ] as [(ConsentKind, String, Bool)] {
            try await consents.record(caller, kind, version, granted)
        }
        let current = try await consents.current(caller)
        #expect(current.map { "\($0.kind) \($0.version) \($0.isGranted)" } == ["memory 3 false", "disclaimer 2 true"])
        let all: Query = """
            select string_agg(format('%s %s %s %s', sequence, kind, version, granted), ',' order by sequence) from public.consents
            where user_id = \(caller.userID.uuid)
            """
        #expect(try await store.value(all) == "1 memory 1 t,2 memory 1 f,3 disclaimer 2 t,4 memory 3 f")
        #expect(
            try await store.value("select consents::text from public.users where id = \(caller.userID.uuid)")
                == #"{"memory": false, "disclaimer": true}"#)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<8 { group.addTask { try await consents.record(caller, .aiProcessing, "\(number)", true) } }
            try await group.waitForAll()
        }
        #expect(try await store.count("select max(sequence) from public.consents where user_id = \(caller.userID.uuid)") == 12)
    }

    @Test("a persona that is published no more is reported by users whose conversations have it", arguments: ["unpublished", "withdrawn"])
    func reportOfKeptPersona(status: String) async throws {
        let store = try await StoreFixture.shared()
        let (caller, other) = (try await newcomer(store), try await newcomer(store))
        let reports = ReportRepository.postgres(client: store.gateway)
        let persona = try await store.persona()
        let turn = try await store.turns().begin(caller, TurnRequest(message: "Hi", personaID: persona), risk: .calm).begun
        try await store.turns().finish(.complete(turn.identity, of: caller))
        try await store.admin.execute("update public.coaching_personas set status = \(status) where id = \(persona.uuid)")
        try await reports.create(caller, Report(id: .random(), subject: .persona(persona), reason: .harmful, comment: nil))
        await #expect(throws: Rejection(reason: .unknownPersona)) {
            try await reports.create(other, Report(id: .random(), subject: .persona(persona), reason: .harmful, comment: nil))
        }
    }

    @Test("a report of a published persona or of the user's own answer is saved once")
    func reports() async throws {
        let store = try await StoreFixture.shared()
        let (caller, other, reports) = (
            try await newcomer(store), try await newcomer(store), ReportRepository.postgres(client: store.gateway)
        )
        let (mine, theirs) = (try await store.turns().talk(caller, "Hello"), try await store.turns().talk(other, "Hello"))
        let (open, draft) = (try await store.persona(), try await store.persona(status: "draft"))
        for subject in [.answer(mine.messageID), .persona(open)] as [Report.Subject] {
            let report = Report(id: .random(), subject: subject, reason: .harmful, comment: "Why?")
            for _ in 0..<2 { try await reports.create(caller, report) }
        }
        #expect(try await store.count("select count(*) from public.reports where user_id = \(caller.userID.uuid)") == 2)
        for (subject, reason) in [
            (.answer(mine.userMessageID), .notFound), (.answer(theirs.messageID), .notFound), (.answer(.random()), .notFound),
            (.persona(draft), .unknownPersona), (.persona(.random()), .unknownPersona),
        ] as [(Report.Subject, Rejection.Reason)] {
            await #expect(throws: Rejection(reason: reason)) {
                try await reports.create(caller, Report(id: .random(), subject: subject, reason: .other, comment: nil))
            }
        }
    }
}
