import CoachCore
import CoachStore
import Foundation
import JSON
import PostgresClient
import TestSupport
import Testing

@Suite("Job queue")
struct JobQueueTests {
    /// Tests share a database, so each uses its own kind.
    private let kind = JobKind(rawValue: "test-\(UUID().uuidString)")
    private let lease = Duration.seconds(30)

    private func queue(_ store: StoreFixture) -> JobQueue { JobQueue(client: store.gateway, instance: UUID()) }

    private func take(_ queue: JobQueue, _ count: Int = 10, lease: Duration? = nil) async throws -> [Job] {
        try await queue.exchange([], [kind: count], lease ?? self.lease)
    }

    private func end(_ queue: JobQueue, _ job: Job, _ result: EndedRun.Result) async throws {
        #expect(try await queue.exchange([EndedRun(run: job.run, result: result)], [:], lease) == [])
    }

    private func state(_ store: StoreFixture, _ id: JobID?) async throws -> String? {
        try await store.value(
            """
            select coalesce(
                (select concat_ws(' ', state, attempts, lease_until is not null, last_error) from gateway.jobs where id = \(id?.raw ?? 0)), 'gone')
            """)
    }

    @Test("gives each due job to one runner, with its payload, oldest first")
    func taking() async throws {
        let store = try await StoreFixture.shared()
        let (one, other) = (queue(store), queue(store))
        let user = UserID.random()
        let payload: JSONValue = ["text": "Grüße \u{1F600}", "list": [1, 2.5, .null]]
        let first = try await one.enqueue(NewJob(kind, userID: user, payload: payload, idempotencyKey: "k"))
        let second = try await one.enqueue(NewJob(kind))
        let taken = try await take(one, 1)
        #expect(taken.map(\.run) == [JobRun(id: try #require(first), attempt: 1)])
        #expect(taken.first?.userID == user && taken.first?.idempotencyKey == "k" && taken.first?.isLastAttempt == false)
        // jsonb orders members.
        #expect(taken.first?.payload["text"] == payload["text"] && taken.first?.payload["list"] == payload["list"])
        #expect(try await take(other).map(\.run.id) == [second])
        #expect(try await take(one) == [])
    }

    @Test("enqueues in the caller's transaction, and a user's claims enqueue only that user's jobs")
    func transaction() async throws {
        let store = try await StoreFixture.shared()
        let (user, other) = (UserID.random(), UserID.random())
        struct Undone: Error {}
        func enqueue(for owner: String, undone: Bool = false) async throws {
            try await store.gateway.withTransaction { lease in
                try await lease.execute("select set_config('request.jwt.claim.sub', \(user.description), true)")
                try await lease.execute("select gateway.enqueue_job(nullif(\(owner), '')::uuid, \(kind.rawValue))")
                if undone { throw Undone() }
            }
        }
        await #expect(throws: Undone.self) { try await enqueue(for: user.description, undone: true) }
        await #expect(throws: PostgresError.self) { try await enqueue(for: other.description) }
        await #expect(throws: PostgresError.self) { try await enqueue(for: "") }
        #expect(try await take(queue(store)) == [])
        try await enqueue(for: user.description)
        #expect(try await take(queue(store)).map(\.userID) == [user])
    }

    @Test("a key enqueues once per user and kind, also after the job is done; without a key each call enqueues")
    func keys() async throws {
        let store = try await StoreFixture.shared()
        let queue = queue(store)
        let job = NewJob(kind, userID: .random(), idempotencyKey: "k")
        #expect(try await queue.enqueue(job) != nil)
        #expect(try await queue.enqueue(job) == nil)
        let taken = try await take(queue)
        try await end(queue, try #require(taken.first), .done)
        #expect(try await queue.enqueue(job) == nil)
        var other = job
        other.userID = nil
        #expect(try await queue.enqueue(other) != nil)
        #expect(try await queue.enqueue(other) == nil)
        other.idempotencyKey = nil
        #expect(try await queue.enqueue(other) != nil)
        #expect(try await queue.enqueue(other) != nil)

        // A key is removed after its time.
        try await store.admin.execute("update gateway.done_jobs set done_at = now() - interval '8 days' where kind = \(kind.rawValue)")
        try await Housekeeping.postgres(client: store.gateway, daysKept: 1).forgetDoneJobs()
        #expect(try await queue.enqueue(job) != nil)
    }

    @Test("of many concurrent enqueues of one key, while its job is taken and ended, exactly one succeeds")
    func keyRace() async throws {
        let store = try await StoreFixture.shared()
        let queue = queue(store)
        for number in 0..<30 {
            let job = NewJob(kind, idempotencyKey: "race \(number)")
            let enqueued = try await withThrowingTaskGroup(of: Bool.self) { group in
                for _ in 0..<6 { group.addTask { try await queue.enqueue(job) != nil } }
                group.addTask {
                    for _ in 0..<3 { for job in try await take(queue) { try await end(queue, job, .done) } }
                    return false
                }
                return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
            }
            #expect(enqueued == 1)
        }
    }

    @Test("a job that fails and is retried for an hour is an hour old, while its due time moves; one that is planned has no age yet")
    func age() async throws {
        let store = try await StoreFixture.shared()
        let (queue, planned) = (queue(store), JobKind(rawValue: "test-\(UUID().uuidString)"))
        func figures(_ kind: JobKind) async throws -> JobFigures? { try await queue.figures().first { $0.kind == kind } }
        let id = try #require(try await queue.enqueue(NewJob(kind)))
        _ = try await queue.enqueue(NewJob(planned, delay: .seconds(600)))
        try await store.admin.execute(
            "update gateway.jobs set enqueued_at = enqueued_at - interval '1 hour' where kind in (\(kind.rawValue), \(planned.rawValue))")
        let hour = Duration.seconds(3600)
        #expect(try await figures(kind).map { $0.ready == 1 && $0.oldest < hour && $0.age >= hour } == true)
        let job = try #require(try await take(queue).first)
        #expect(try await figures(kind).map { $0.ready == 0 && $0.oldest == .zero && $0.age >= hour } == true, "it runs")
        try await end(queue, job, .retry(after: .seconds(600), reason: "bad luck"))
        #expect(try await figures(kind).map { $0.ready == 0 && $0.oldest == .zero && $0.age >= hour } == true, "it waits")
        #expect(try await figures(planned) == nil)
        try await store.admin.execute("update gateway.jobs set due_at = now() where id = \(id.raw)")
        for job in try await take(queue) { try await end(queue, job, .done) }
        #expect(try await figures(kind) == nil)
    }

    @Test("done jobs are removed; failed ones wait, and are dead after the last attempt; returns are not attempts")
    func ends() async throws {
        let store = try await StoreFixture.shared()
        let queue = queue(store)
        let id: Int64 = try await store.gateway.query(
            "select gateway.enqueue_job(null, \(kind.rawValue), max_attempts => 2)"
        ) { rows in try rows.only { row in try row.value(0) } }
        var job = try #require(try await take(queue).first)
        try await end(queue, job, .returned)
        #expect(try await state(store, JobID(id)) == "ready 0 f")
        job = try #require(try await take(queue).first)
        #expect(!job.isLastAttempt)
        try await end(queue, job, .retry(after: .seconds(60), reason: "bad\0 luck"))
        #expect(try await state(store, JobID(id)) == "ready 1 f bad luck")
        #expect(try await take(queue) == [], "it waits")
        try await store.admin.execute("update gateway.jobs set due_at = due_at - interval '60 s' where id = \(id)")
        job = try #require(try await take(queue).first)
        #expect(job.isLastAttempt && job.run.attempt == 2)
        try await end(queue, job, .dead(reason: String(repeating: "long", count: 1_000)))
        #expect(try await state(store, JobID(id))?.count == "dead 2 f ".count + 1_000)
        #expect(try await take(queue) == [])
        #expect(try await queue.figures().first { $0.kind == kind } == JobFigures(kind: kind, ready: 0, dead: 1, oldest: .zero, age: .zero))

        #expect(try await store.count("select gateway.requeue_jobs(array[\(id), 0]::bigint[])") == 1)
        job = try #require(try await take(queue).first)
        #expect(job.run.attempt == 1)
        try await end(queue, job, .done)
        #expect(try await state(store, JobID(id)) == "gone")
    }

    @Test("a job is due again when its lease expires, and then a result of the earlier holder has no effect")
    func expiry() async throws {
        let store = try await StoreFixture.shared()
        let (dead, living) = (queue(store), queue(store))
        let id = try await dead.enqueue(NewJob(kind))
        let lost = try #require(try await take(dead, lease: .milliseconds(50)).first)
        try await eventually { try await !take(living).isEmpty }
        #expect(try await dead.renew([lost.run], lease) == [])
        for result in [EndedRun.Result.done, .retry(after: .zero, reason: "late"), .dead(reason: "late"), .returned] {
            try await end(dead, lost, result)
            #expect(try await state(store, id) == "ready 2 t")
        }
        let held = JobRun(id: try #require(id), attempt: 2)
        #expect(try await living.renew([held, lost.run], lease) == [held.id])
        // Records a result twice, as after a lost answer.
        let job = Job(run: held, isLastAttempt: false, userID: nil, kind: kind, payload: .null, idempotencyKey: nil)
        for _ in 0..<2 { try await end(living, job, .retry(after: .seconds(9), reason: "x")) }
        #expect(try await state(store, id) == "ready 2 f x")
    }

    @Test("a job whose lease expires at every attempt is dead after the last one")
    func poison() async throws {
        let store = try await StoreFixture.shared()
        let queue = queue(store)
        let id: Int64 = try await store.gateway.query(
            "select gateway.enqueue_job(null, \(kind.rawValue), max_attempts => 2)"
        ) { rows in try rows.only { row in try row.value(0) } }
        for attempt in 1...2 {
            #expect(try await take(queue).map(\.run.attempt) == [attempt])
            try await store.admin.execute("update gateway.jobs set lease_until = now() - interval '1 s' where id = \(id)")
        }
        #expect(try await take(queue) == [])
        #expect(try await state(store, JobID(id)) == "dead 2 f the lease of the last attempt expired")
    }

    @Test("a lease from before the clock was set back counts as expired")
    func clockSetBack() async throws {
        let store = try await StoreFixture.shared()
        let queue = queue(store)
        _ = try await queue.enqueue(NewJob(kind))
        _ = try await take(queue)
        try await store.admin.execute("update gateway.jobs set lease_until = lease_until + interval '1 hour' where kind = \(kind.rawValue)")
        #expect(try await take(queue).count == 1)
    }

    @Test("taking, renewing and ending use indexes, also with many waiting jobs")
    func plans() async throws {
        let store = try await StoreFixture()
        let queue = queue(store)
        try await store.admin.execute(
            """
            insert into gateway.jobs (kind, due_at, max_attempts)
            select case when n % 2 = 0 then \(kind.rawValue) else 'other' end, now() - interval '1 s', 20 from generate_series(1, 20000) n
            """)
        func statistics(after updates: Int) async throws -> (scans: Int, updates: Int, hot: Int) {
            var found = (scans: 0, updates: 0, hot: 0)
            try await eventually {
                try await store.gateway.execute("select pg_stat_force_next_flush()")
                found = try await store.admin.query(
                    "select seq_scan, n_tup_upd, n_tup_hot_upd from pg_stat_user_tables where relid = 'gateway.jobs'::regclass"
                ) { rows in try rows.only { row in (try row.value(0), try row.value(1), try row.value(2)) } }
                return found.updates >= updates
            }
            return found
        }
        let before = try await statistics(after: 0).scans
        var jobs: [Job] = []
        for _ in 0..<10 { jobs += try await take(queue, 50) }
        #expect(jobs.count == 500)
        let taken = try await statistics(after: 500)
        #expect(taken.updates == 500 && taken.hot >= 450, "\(taken)")
        for start in stride(from: 0, to: 500, by: 50) {
            let some = jobs[start..<start + 50]
            #expect(try await queue.renew(some.map(\.run), lease).count == 50)
            _ = try await queue.exchange(some.map { EndedRun(run: $0.run, result: .done) }, [:], lease)
        }
        #expect(try await statistics(after: 1_000).scans == before)
        #expect(try await store.count("select count(*) from gateway.jobs") == 19_500)
    }
}
