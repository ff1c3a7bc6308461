import CoachCore
import CoachStore
import PostgresClient
import Testing

@Suite("Removal of users and conversations")
struct RemovalTests {
    private static let tables = [
        "public.conversations", "public.messages", "public.turns", "gateway.running_turns", "public.rate_limits", "public.budgets",
        "public.safety_states",
    ]

    private func rows(_ store: StoreFixture, of caller: Caller, in tables: [String] = tables) async throws -> [String: Int] {
        var found: [String: Int] = [:]
        for table in tables {
            let query = Query(unsafeSQL: "select count(*) from \(table) where user_id = '\(caller.userID)'")
            found[table] = try await store.count(query)
        }
        return found.filter { $0.value > 0 }
    }

    @Test("removing a user removes all of their rows and no others")
    func user() async throws {
        let store = try await StoreFixture.shared()
        let (caller, neighbour) = (Caller.someone(), Caller.someone())
        for _ in 0..<2 {
            let opening = try await store.turns().begin(caller, TurnRequest(message: "Hello"), risk: .danger(.concern))
            try await store.turns().finish(.complete(try opening.begun.identity, of: caller))
        }
        _ = try await store.turns().begin(caller, TurnRequest(message: "Still there?"), risk: .calm).begun
        try await store.turns().talk(neighbour, "I live next door")
        let before = try await rows(store, of: neighbour)
        #expect(try await Set(rows(store, of: caller).keys) == Set(Self.tables))

        let account = try #require(try await store.value("select account_id::text from public.users where id = \(caller.userID.uuid)"))
        let spent: Query = "select sum(cost_usd)::text from public.usage_logs where account_id = \(account)::uuid"
        try await store.admin.execute("delete from public.users where id = \(caller.userID.uuid)")
        #expect(try await rows(store, of: caller) == [:])
        #expect(try await store.value(spent) == "0.000246912", "what was spent stays in the ledger, as nobody's")
        #expect(try await rows(store, of: neighbour) == before)
    }

    @Test("removing a conversation removes its messages and no others; the ledger is kept")
    func conversation() async throws {
        let store = try await StoreFixture.shared()
        let caller = Caller.someone()
        let first = try await store.turns().talk(caller, "One")
        try await store.turns().talk(caller, "Two")
        let tables = ["public.conversations", "public.messages", "public.turns", "gateway.running_turns"]
        try await store.admin.execute("delete from public.conversations where id = \(first.conversationID.uuid)")
        #expect(
            try await rows(store, of: caller, in: tables)
                == ["public.conversations": 1, "public.messages": 2, "public.turns": 1])
        let spent: Query = "select count(*) from public.model_calls where turn_id = \(first.turnID.uuid)"
        #expect(try await store.count(spent) == 1, "what was spent stays in the ledger")
    }

    @Test("removing a conversation while its turn runs gives back what that turn reserved, and no more")
    func reserve() async throws {
        let store = try await StoreFixture.shared()
        let caller = Caller.someone()
        let tiers = TierBook([Tier("free", requestsPerMinute: 600)], reservePerTurn: Nanodollars(400), reservedTokensPerTurn: 130)
        let turns = store.turns(tiers)
        let removed = try await turns.begin(caller, TurnRequest(message: "One"), risk: .calm).begun.identity
        let kept = try await turns.begin(caller, TurnRequest(message: "Two"), risk: .calm).begun.identity
        let reserved: Query = "select reserved_usd || ' ' || reserved_tokens from public.budgets where user_id = \(caller.userID.uuid)"
        #expect(try await store.value(reserved) == "0.000000800 260")
        try await store.admin.execute("delete from public.conversations where id = \(removed.conversationID.uuid)")
        #expect(try await store.value(reserved) == "0.000000400 130")
        try await turns.finish(.complete(kept, of: caller))
        #expect(try await store.value(reserved) == "0.000000000 0")
    }

    @Test("a turn that begins or ends, uncommitted, while its conversation is removed leaves nothing", arguments: Step.allCases)
    func race(step: Step) async throws {
        let store = try await StoreFixture()
        let caller = Caller.someone()
        let identity = try await store.turns().begin(caller, TurnRequest(message: "Hello"), risk: .calm).begun.identity
        if step == .next { try await store.turns().finish(.complete(identity, of: caller)) }

        try await store.gateway.withConnection { lease in
            try await lease.execute("begin")
            try await lease.execute(
                """
                select set_config('request.jwt.claims', \(caller.claims), true),
                    set_config('request.jwt.claim.sub', \(caller.userID.description), true)
                """)
            try await lease.execute(step.call(identity, of: caller))
            let removal = Task {
                // Not on a shared connection, where the query for it would wait behind it.
                try await store.admin.withConnection { lease in
                    try await lease.execute("delete from public.conversations where id = \(identity.conversationID.uuid)")
                }
            }
            let waits: Query = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
            while try await store.count(waits) == 0 { await Task.yield() }
            try await lease.execute("commit")
            #expect(try await removal.value == 1)
        }
        let tables = ["public.conversations", "public.messages", "public.turns", "gateway.running_turns"]
        #expect(try await rows(store, of: caller, in: tables) == [:])
    }

    enum Step: String, CaseIterable {
        case complete, failed, next

        func call(_ turn: TurnIdentity, of caller: Caller) -> Query {
            switch self {
            case .complete, .failed:
                """
                select gateway.finish_turn(\(caller.userID), jsonb_build_object(
                    'conversation_id', \(turn.conversationID.uuid)::uuid, 'turn_id', \(turn.turnID.uuid)::uuid, 'attempt', 1, 'status', \(rawValue)::text, 'content', 'Well.', 'duration_ms', 1,
                    'bill', '{"provider": "p", "model": "m", "input": 1, "output": 1, "cost_nanodollars": 1, "estimated": false}'::jsonb))
                """
            case .next:
                """
                select gateway.begin_turn(\(caller.userID), jsonb_build_object('message', 'Go on', 'conversation_id', \(turn.conversationID.uuid)::uuid))
                """
            }
        }
    }
}
