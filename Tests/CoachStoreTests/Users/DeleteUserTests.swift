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
        let opening = try await store.turns().begin(caller, TurnRequest(message: "Hi"), risk: .calm)
        let counted = await #expect(throws: CountedRejection.self) { _ = try await store.requests().take(caller) }
        for rate in [opening.rate, try #require(counted).rate] {
            #expect(rate.remaining == rate.limit && rate.resetAt > Int(Date().timeIntervalSince1970), "a window that has not ended")
        }
        #expect(try await store.count("select count(*) from public.users where id = \(caller.userID.uuid)") == 0)
        #expect(try await store.turns().finish(.complete(running, of: caller)) == .unknownTurn)
        #expect(try await delete(caller, store) == "removed")
    }

    @Test("removes few rows at once of every table that may have many, and one persona with its versions and links")
    func parts() async throws {
        let store = try await StoreFixture.shared()
        let creator = Caller.someone(role: .creator)
        _ = try await store.requests().take(creator)
        let personas = try await [store.persona(of: creator.userID), store.persona(of: creator.userID)]
        let tables: KeyValuePairs = [
            "public.consents": "sequence, kind, version, granted) select $1, n, 'memory', '1', n % 2 = 0",
            "public.reports": "persona_id, reason) select $1, gen_random_uuid(), 'other'",
            "public.persona_redemptions": "persona_id, link_id) select $1, gen_random_uuid(), gen_random_uuid()",
            "gateway.idempotent_requests": "key, request_hash) select $1, n::text, ''",
        ]
        for (table, rows) in tables {
            let rows = rows.replacing("$1", with: "'\(creator.userID)'::uuid")
            try await store.admin.execute(Query(unsafeSQL: "insert into \(table) (user_id, \(rows) from generate_series(1, 7) n"))
        }
        func counts() async throws -> [Int] {
            var counts: [Int] = []
            for table in tables.map(\.key) + ["public.coaching_personas"] {
                counts.append(try await store.count(Query(unsafeSQL: "select count(*) from \(table) where user_id = '\(creator.userID)'")))
            }
            return counts
        }
        var before = try await counts()
        #expect(before == [7, 7, 7, 7, 2])
        while try await delete(creator, store) == "removing" {
            let after = try await counts()
            #expect(zip(before, after).reduce(0) { $0 + $1.0 - $1.1 } <= 3)
            #expect(before[4] - after[4] <= 1)
            before = after
        }
        #expect(before == [0, 0, 0, 0, 0])
        #expect(
            try await store.count("select count(*) from public.persona_versions where persona_id = any (\(personas.map(\.uuid)))") == 0)
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
                        guard case .begun(let context, _, _) = opening else {
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

        let removal = UserRemoval.postgres(client: store.gateway)
        let known = [neighbour.userID, caller.userID, .random()]
        #expect(try await removal.removed(known) == [caller.userID])
        while try await removal.removePart(caller.userID) != .removed {}
        _ = try await queue.exchange(jobs.map { EndedRun(run: $0.run, result: .done) }, [:], .seconds(30))
        #expect(try await removal.removed(known) == [caller.userID])
        for table in ["public.conversations", "public.messages", "public.turns", "gateway.jobs", "gateway.done_jobs"] {
            let rows = Query(unsafeSQL: "select count(*) from \(table) where user_id = '\(caller.userID)'")
            #expect(try await store.count(rows) == 0, "\(table)")
        }
        #expect(try await store.count("select count(*) from gateway.jobs where user_id = \(neighbour.userID.uuid)") == 1)
    }

    @Test("by Supabase's cascade also leaves a tombstone, and a job that removes what has no key to the user's row")
    func cascade() async throws {
        let store = try await StoreFixture.shared()
        let caller = Caller.someone()
        try await store.turns().talk(caller, "Hello")
        try await store.admin.execute("delete from public.users where id = \(caller.userID.uuid)")
        #expect(try await store.turns().begin(caller, TurnRequest(message: "Hi"), risk: .calm).rejection.reason == .suspended)
        await #expect(throws: PostgresError.self) {
            try await store.admin.execute("insert into public.users (id) values (\(caller.userID.uuid))")
        }
        let jobs: Query = "select count(*) from gateway.jobs where user_id = \(caller.userID.uuid) and kind = 'delete_user'"
        #expect(try await store.count(jobs) == 1)
        var outcome: String?
        repeat { outcome = try await delete(caller, store) } while outcome == "removing"
        #expect(outcome == "removed")
        #expect(try await store.count(jobs) == 1, "it ends itself, and its end makes no other one")
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
