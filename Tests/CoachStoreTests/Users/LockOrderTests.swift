import CoachCore
import CoachStore
import PostgresClient
import Testing

/// Statements of a user number their change first, so they hold the user's counter when they lock turns and conversations. Whoever has locked these
/// before the counter would wait for each other with them.
@Suite("The counter of a user's changes is locked first")
struct LockOrderTests {
    /// Runs `function` while the user's counter, or that of their requests, is locked, and returns how many of `rows` can be locked while it waits for it.
    private func unlocked(
        _ rows: Query, behindRequests: Bool = false, _ store: StoreFixture, of caller: Caller,
        during function: @escaping @Sendable () async throws -> Void
    ) async throws -> Int {
        try await store.admin.withConnection { lease in
            try await lease.execute("begin")
            let counter: Query = behindRequests ? "public.rate_limits" : "public.change_counters"
            try await lease.execute("select from \(counter) where user_id = \(caller.userID.uuid) for update")
            let running = Task { try await function() }
            let waits: Query = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
            while try await store.count(waits) == 0 { await Task.yield() }
            let count = try await lease.query(rows) { rows in rows.count }
            try await lease.execute("commit")
            try await running.value
            return count
        }
    }

    @Test("by the removal of an account, before its conversations")
    func removal() async throws {
        let store = try await StoreFixture()
        let caller = Caller.someone()
        _ = try await store.requests().take(caller)
        for _ in 0..<3 { _ = try await store.conversations.create(caller, ConversationDraft()) }
        @Sendable func delete() async throws {
            try await store.gateway.withTransaction { lease in
                try await lease.execute("select set_config('request.jwt.claim.sub', \(caller.userID.description), true)")
                try await lease.execute("select gateway.delete_user(\(caller.userID.uuid))")
            }
        }
        try await store.gateway.withTransaction { lease in
            try await lease.execute("select set_config('request.jwt.claim.sub', \(caller.userID.description), true)")
            try await lease.execute("select gateway.refuse_user(\(caller.userID.uuid))")
        }
        #expect(try await unlocked("select from public.conversations for update skip locked", store, of: caller, during: delete) == 3)
        #expect(try await store.count("select count(*) from public.conversations") == 0)
    }

    @Test("by a late receipt, before its turn")
    func lateReceipt() async throws {
        let store = try await StoreFixture()
        let (caller, turns) = (Caller.someone(), store.turns())
        let identity = try await turns.begin(caller, TurnRequest(message: "Hello"), risk: .calm).begun.identity
        var lost = TurnReceipt.failed(identity, of: caller)
        lost.finalizedBy = .recovery
        try await turns.finish(lost)
        let count = try await unlocked("select from public.turns for update skip locked", store, of: caller) {
            try await turns.finish(.complete(identity, of: caller))
        }
        #expect(count == 1)
        #expect(try await turns.load(identity.turnID, for: caller)?.status == .complete)
    }

    @Test("by a turn past half of a budget, before its budgets")
    func budget() async throws {
        let store = try await StoreFixture()
        let tiers = TierBook.free(
            messagesPerDay: 100, concurrentTurns: 5, budgets: .init(costPerDay: Nanodollars(200_000)), perMinute: 600,
            reserve: Nanodollars(1))
        let (caller, turns) = (Caller.someone(), store.turns(tiers))
        try await turns.talk(caller, "Hello")
        let count = try await unlocked("select from public.budgets for update skip locked", store, of: caller) {
            _ = try await turns.begin(caller, TurnRequest(message: "And now?"), risk: .calm).begun
        }
        #expect(count == 1)
        #expect(try await store.count("select count(*) from public.budgets where limit_share > 0.5") == 1)
    }

    @Test("but after the count of the user's requests, which a failed turn may change")
    func failedTurn() async throws {
        let store = try await StoreFixture()
        let (caller, turns) = (Caller.someone(), store.turns())
        let identity = try await turns.begin(caller, TurnRequest(message: "Hello"), risk: .calm).begun.identity
        let counters: Query = "select from public.change_counters for update skip locked"
        let count = try await unlocked(counters, behindRequests: true, store, of: caller) {
            try await turns.finish(.failed(identity, of: caller))
        }
        #expect(count == 1)
    }

    @Test("or not at all: the purge leaves the conversations of a user whose counter is locked for the next time")
    func purge() async throws {
        let store = try await StoreFixture()
        let callers = [Caller.someone(), Caller.someone()]
        for caller in callers {
            _ = try await store.requests().take(caller)
            _ = try await store.conversations.create(caller, ConversationDraft())
        }
        try await store.admin.execute("update public.conversations set deleted_at = now() - interval '31 days'")
        let housekeeping = Housekeeping.postgres(client: store.gateway, daysKept: 30)
        try await store.admin.withConnection { lease in
            try await lease.execute("begin")
            try await lease.execute("select from public.change_counters where user_id = \(callers[0].userID.uuid) for update")
            #expect(try await housekeeping.purge() == 1)
            try await lease.execute("commit")
        }
        #expect(try await housekeeping.purge() == 1)
    }
}
