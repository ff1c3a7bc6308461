import CoachCore
import CoachStore
import Foundation
import PostgresClient
import Testing

@Suite("Removal of a user")
struct DeleteUserTests {
    private func delete(_ caller: Caller, _ store: StoreFixture, atMost: Int = 3) async throws -> String? {
        try await store.gateway.withTransaction { lease in
            try await lease.execute("select set_config('request.jwt.claim.sub', \(caller.userID.description), true)")
            return try await lease.query("select gateway.delete_user(\(caller.userID.uuid), \(atMost)::integer) ->> 'outcome'") {
                try $0.only { try $0.value(0, as: String?.self) }
            }
        }
    }

    @Test("stops turns, rejects every token from its first call on, removes rows in parts, and the user is not recreated")
    func peer() async throws {
        let store = try await StoreFixture.shared()
        let (caller, neighbour) = (Caller.someone(), Caller.someone())
        for number in 1...3 { try await store.turns().talk(caller, "\(number)") }
        let kept = try await store.turns().talk(neighbour, "I live next door")
        let running = try await store.turns().begin(caller, TurnRequest(message: "Still there?"), risk: .calm).begun.identity

        #expect(try await delete(caller, store) == "stopping")
        #expect(try await delete(caller, store) == "stopping")
        #expect(try await store.turns().begin(caller, TurnRequest(message: "Hi"), risk: .calm).rejection.reason == .suspended)
        #expect(try await store.requests().rejection(of: caller) == .suspended)
        #expect(try await store.turns().finish(.complete(running, of: caller)) == .finalized)

        var outcomes: [String?] = []
        repeat { outcomes.append(try await delete(caller, store)) } while outcomes.last == "removing"
        #expect(outcomes.count > 4 && outcomes.last == "removed")
        for table in ["conversations", "messages", "turns", "rate_limits", "budgets", "change_counters"] {
            let rows = Query(unsafeSQL: "select count(*) from public.\(table) where user_id = '\(caller.userID)'")
            #expect(try await store.count(rows) == 0, "\(table)")
        }
        #expect(try await store.turns().load(kept.turnID, for: neighbour) != nil)

        #expect(try await store.turns().begin(caller, TurnRequest(message: "Hi"), risk: .calm).rejection.reason == .suspended)
        #expect(try await store.requests().rejection(of: caller) == .suspended)
        #expect(try await store.count("select count(*) from public.users where id = \(caller.userID.uuid)") == 0)
        #expect(try await store.turns().finish(.complete(running, of: caller)) == .unknownTurn)
        #expect(try await delete(caller, store) == "removed")
    }

    @Test("beside turns that begin and end has no deadlock and loses no receipt", arguments: [1, 1000])
    func concurrent(atMost: Int) async throws {
        let store = try await StoreFixture.shared()
        let caller = Caller.someone()
        for number in 1...5 { try await store.turns().talk(caller, "\(number)") }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    while true {
                        let opening = try await store.turns().begin(caller, TurnRequest(message: "More"), risk: .calm)
                        guard case .begun(let context, _) = opening else {
                            #expect(try opening.rejection.reason == .suspended)
                            return
                        }
                        let outcome = try await store.turns().finish(.complete(context.identity, of: caller))
                        #expect(outcome == .finalized)
                    }
                }
            }
            group.addTask { while try await delete(caller, store, atMost: atMost) != "removed" {} }
            try await group.waitForAll()
        }
        #expect(try await store.count("select count(*) from public.turns where user_id = \(caller.userID.uuid)") == 0)
    }

    @Test("rejects the user from the request on and enqueues one job, which removes the user and all of their jobs")
    func requested() async throws {
        let store = try await StoreFixture.shared()
        let (caller, neighbour) = (Caller.someone(), Caller.someone())
        for number in 1...3 { try await store.turns().talk(caller, "\(number)") }
        let queue = JobQueue(client: store.gateway, instance: UUID())
        for user in [caller, neighbour] {
            _ = try await queue.enqueue(NewJob(JobKind(rawValue: "other"), userID: user.userID, idempotencyKey: "k"))
        }
        for _ in 0..<2 {
            try await store.gateway.withTransaction { lease in
                try await lease.execute("select set_config('request.jwt.claim.sub', \(caller.userID.description), true)")
                try await lease.execute("select gateway.request_removal(\(caller.userID.uuid))")
            }
        }
        #expect(try await store.turns().begin(caller, TurnRequest(message: "Hi"), risk: .calm).rejection.reason == .suspended)
        let jobs = try await queue.exchange([], [.deleteUser: 10], .seconds(30))
            .filter { $0.userID == caller.userID }
        #expect(jobs.count == 1)

        let removal = UserRemoval(client: store.gateway)
        while try await removal.removePart(of: caller.userID) != .removed {}
        _ = try await queue.exchange(jobs.map { EndedRun(run: $0.run, result: .done) }, [:], .seconds(30))
        for table in ["public.conversations", "public.messages", "public.turns", "gateway.jobs", "gateway.done_jobs"] {
            let rows = Query(unsafeSQL: "select count(*) from \(table) where user_id = '\(caller.userID)'")
            #expect(try await store.count(rows) == 0, "\(table)")
        }
        #expect(try await store.count("select count(*) from gateway.jobs where user_id = \(neighbour.userID.uuid)") == 1)
    }

    @Test("by Supabase's cascade also leaves a tombstone")
    func cascade() async throws {
        let store = try await StoreFixture.shared()
        let caller = Caller.someone()
        try await store.turns().talk(caller, "Hello")
        try await store.admin.execute("delete from public.users where id = \(caller.userID.uuid)")
        #expect(try await store.turns().begin(caller, TurnRequest(message: "Hi"), risk: .calm).rejection.reason == .suspended)
        await #expect(throws: PostgresError.self) {
            try await store.admin.execute("insert into public.users (id) values (\(caller.userID.uuid))")
        }
    }

    @Test("is rejected for another user than that of the claims")
    func claims() async throws {
        let store = try await StoreFixture.shared()
        let (caller, other) = (Caller.someone(), Caller.someone())
        try await store.turns().talk(other, "Hello")
        await #expect(throws: PostgresError.self) {
            try await store.gateway.withTransaction { lease in
                try await lease.execute("select set_config('request.jwt.claim.sub', \(caller.userID.description), true)")
                try await lease.execute("select gateway.delete_user(\(other.userID.uuid))")
            }
        }
    }
}
