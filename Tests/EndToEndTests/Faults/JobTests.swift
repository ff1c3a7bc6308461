import Foundation
import HTTPTestServers
import TestSupport
import Testing

@Suite("Jobs", .paced)
struct JobTests {
    private static let users = 1_500
    private static let deliveries = 1_200
    private static let kills = 8

    @Test("two instances share them; while both are killed again and again, every job is done, and no attempt has its effect twice")
    func kills() async throws {
        let simulator = try await TestBed.shared().simulator
        let (database, receiver) = (try await Database.ofItsOwn(), try StoreAPI())
        try await receiver.answer("/alerts", "{}")
        try await fill(database)
        let folders = [try StateFolder(), try StateFolder()]
        let webhook = ["COACH_ALERT_WEBHOOK_URL": receiver.url + "/alerts", "COACH_ALERT_WEBHOOK_SECRET": "whsec_test"]
        func start(_ index: Int) async throws -> Gateway {
            try await Gateway(database: database.gatewayURL, simulator: simulator.url, environment: folders[index].state(webhook))
        }
        var gateways = [try await start(0), try await start(1)]
        for kill in 0..<Self.kills {
            // The next of all jobs.
            try await enqueue(database, Self.users / Self.kills)
            try await enqueueDeliveries(database, round: kill, Self.deliveries / Self.kills)
            try await Task.sleep(for: .milliseconds(.random(in: 50...1_300)))
            try await gateways[kill % 2].program.kill9()
            gateways[kill % 2] = try await start(kill % 2)
        }
        try await enqueue(database, Self.users)
        // A job of a killed process is due again after its lease, 10 s.
        try await eventually(within: .seconds(60), "the end of all jobs") {
            try await database.rows("select 1 as one from gateway.jobs where kind in ('delete_user', 'deliver_alert') limit 1").isEmpty
        }
        let left = try await database.row(
            "select (select count(*) from users where display_name = 'leaver') as users, (select count(*) from messages) as messages")
        #expect(left.number("users") == 0 && left.number("messages") == 0)
        let removals = try await database.row("select count(*) as all, count(distinct user_id) as users from removals")
        #expect(removals.number("all") == Self.users && removals.number("users") == Self.users)
        let runs = try await database.row(
            """
            select count(*) as jobs, count(distinct leased_by) as instances, count(*) filter (where attempts > 1) as again from ended_jobs
            where kind = 'delete_user'
            """)
        #expect(runs.number("jobs") == Self.users && runs.number("instances") == 2)
        #expect(runs.number("again") ?? 0 > 0, "no kill met a job that ran")

        // A delivery cannot be undone: a job that ran once delivered once, and one that a kill interrupted at most once for each attempt.
        let received = Dictionary(grouping: try await receiver.requests()) { $0.headers["x-webhook-id"] ?? "" }.mapValues(\.count)
        let delivered = try await database.rows(
            "select idempotency_key as key, attempts from ended_jobs where idempotency_key like 'delivery-%'")
        #expect(delivered.count == Self.deliveries)
        for job in delivered {
            let (key, attempts) = (try #require(job["key"]), try #require(job.number("attempts")))
            #expect((1...attempts).contains(received[key] ?? 0), "\(key): \(received[key] ?? 0) deliveries in \(attempts) attempts")
        }
        print("\(Self.kills) kills, \(Self.users) jobs, \(runs.number("again") ?? 0) of them run again")
    }

    @Test("a dead job is a finding of check, and is run again when it is requeued")
    func dead() async throws {
        let testBed = try await TestBed.shared()
        let database = try await Database.ofItsOwn()
        let environment = Gateway.environment(database: database.gatewayURL, simulator: testBed.simulator.url)
        let clean = try await Program.run(["check"], environment: environment)
        #expect(!clean.output.contains("dead jobs"), "\(clean.output)")
        // Without a user there is nothing to remove.
        try await database.fresh.psql("select gateway.enqueue_job(null, 'delete_user')")
        let gateway = try await Gateway(
            database: database.gatewayURL, simulator: testBed.simulator.url, environment: ["COACH_METRICS_LISTEN": "127.0.0.1:0"])
        let metrics = Browser(port: try await gateway.metricsPort())
        func expectDeadGauge(_ count: Int) async throws {
            try await eventually(within: .seconds(30), "the gauge of \(count) dead jobs") {
                try await metrics.send("GET", "/metrics").text.contains("coach_jobs_dead{kind=\"delete_user\"} \(count).0\n")
            }
        }
        try await eventually("the dead job") { try await !database.rows("select 1 as one from gateway.jobs where state = 'dead'").isEmpty }
        let check = try await Program.run(["check"], environment: environment)
        #expect(check.status != 0 && check.output.contains("1 dead jobs of kind delete_user"), "\(check.output)")
        #expect(gateway.log.contains { $0["message"] == "a job's run ended" && $0["outcome"] == "dead" })
        let scraped = try await metrics.send("GET", "/metrics").text
        #expect(scraped.contains("coach_jobs_total{kind=\"delete_user\",outcome=\"dead\"} 1\n"), "\(scraped)")
        try await expectDeadGauge(1)

        try await database.fresh.psql(
            """
            update gateway.jobs set user_id = gen_random_uuid() where state = 'dead';
            select gateway.requeue_jobs(array(select id from gateway.jobs where state = 'dead'))
            """)
        try await eventually("the end of the requeued job") {
            try await database.rows("select 1 as one from gateway.jobs where kind = 'delete_user'").isEmpty
        }
        try await expectDeadGauge(0)
    }

    /// Creates users with thirty messages each, and triggers that record each removed user and each ended job.
    private func fill(_ database: Database) async throws {
        try await database.fresh.psql(
            """
            insert into users (id, display_name) select gen_random_uuid(), 'leaver' from generate_series(1, \(Self.users));
            insert into conversations (user_id, title, last_seq) select id, 'x', 30 from users where display_name = 'leaver';
            insert into messages (user_id, conversation_id, seq, role, content, token_count)
                select c.user_id, c.id, n, 'user', 'x', 1 from conversations c, generate_series(1, 30) n where c.title = 'x';
            -- The functions that fire the triggers have an empty search path.
            create table removals (user_id uuid);
            create table ended_jobs (id bigint, kind text, idempotency_key text, attempts integer, leased_by uuid);
            create function note_removal() returns trigger language plpgsql security definer as
                $f$ begin insert into public.removals values (old.id); return null; end $f$;
            create function note_end() returns trigger language plpgsql security definer as
                $f$ begin insert into public.ended_jobs values (old.id, old.kind, old.idempotency_key, old.attempts, old.leased_by); return null; end $f$;
            create trigger note after delete on users for each row execute function note_removal();
            create trigger note after delete on gateway.jobs for each row
                when (old.kind in ('delete_user', 'deliver_alert')) execute function note_end();
            """)
    }

    /// Enqueues deliveries to the webhook.
    private func enqueueDeliveries(_ database: Database, round: Int, _ count: Int) async throws {
        try await database.fresh.psql(
            "select gateway.enqueue_job(null, 'deliver_alert', '{}', 'delivery-\(round)-' || n) from generate_series(1, \(count)) as n")
    }

    /// Requests the removal of `count` more users.
    private func enqueue(_ database: Database, _ count: Int) async throws {
        try await database.fresh.psql(
            """
            select set_config('request.jwt.claim.sub', id::text, false) is not null, gateway.request_removal(id)
            from users where display_name = 'leaver' and suspended_at is null limit \(count)
            """)
    }
}
