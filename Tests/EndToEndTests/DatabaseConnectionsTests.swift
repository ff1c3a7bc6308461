import Foundation
import TestSupport
import Testing

@Suite struct DatabaseConnectionsTests {
    @Test("COACH_DATABASE_CONNECTIONS is the number of shared connections, besides the one for LISTEN")
    func count() async throws {
        let testBed = try await TestBed.shared()
        let database = try await Database.ofItsOwn()
        let gateway = try await Gateway(
            database: database.gatewayURL, simulator: testBed.simulator.url, environment: ["COACH_DATABASE_CONNECTIONS": "6"])
        let sessions = """
            select count(*) as count from pg_stat_activity where datname = current_database() and application_name = 'coach-gateway'
            """
        try await eventually("seven connections") { try await database.row(sessions).number("count") == 7 }
        // Requests open no further connections.
        let testUser = gateway.testUser()
        for _ in 1...3 { _ = try await testUser.chat("Hello " + sim(["words": 3])) }
        #expect(try await database.row(sessions).number("count") == 7)
    }

    @Test("a turn is followed on another instance and answered once while neither has the connections of checkpoints and others' text")
    func recoveryConnectionsAway() async throws {
        let (database, simulator) = (try await Database.ofItsOwn(), try await TestBed.shared().simulator.url)
        func gateway() async throws -> Gateway {
            try await Gateway(database: database.gatewayURL, simulator: simulator, environment: try StateFolder().state())
        }
        let (one, other) = (try await gateway(), try await gateway())
        // The limit is for new connections of roles that are not superusers.
        try await database.fresh.psql(
            """
            do $$ begin
                execute format('alter database %I connection limit 0', current_database());
                perform pg_terminate_backend(a.pid) from pg_stat_activity a
                where a.datname = current_database() and a.application_name in ('coach-gateway-checkpoints', 'coach-gateway-texts');
            end $$;
            """)
        for each in [one, other] { try await eventually("connections lost") { try await each.readiness() == 503 } }
        // Longer than a lease.
        let (user, message) = (one.testUser(), "Slow \(sim(["words": 100, "pace_ms": 100]))")
        let running = try await user.openStream(message, ["client_message_id": "once"]).until(bytes: 10)
        let followed = try await user.at(other.port).follow(running.turnID).until(bytes: 10)
        #expect(followed.end == nil)
        #expect(try await running.toEnd().end?.type == "done")
        #expect(try await followed.toEnd().end?.type == "done")
        #expect(followed.text == running.text)
        let repeated = try await user.at(other.port).chat(message, ["client_message_id": "once"])
        #expect(repeated.first("start")?["turn_id"] == running.turnID && repeated.content == running.text)
        #expect(try await database.usage(of: user.id).count == 1)
    }

    @Test("an operator's slow figures do not delay turns")
    func slowFigures() async throws {
        let database = try await Database.ofItsOwn()
        let gateway = try await Gateway(database: database.gatewayURL, simulator: try await TestBed.shared().simulator.url)
        // The statement's time is what is tested; less than the time limit of statements.
        try await database.fresh.psql(
            """
            alter function operator.require_operator() rename to require_operator_at_once;
            create function operator.require_operator() returns void language plpgsql set search_path = '' as $$
            begin
                perform pg_sleep(1.5);
                perform operator.require_operator_at_once();
            end $$;
            """)
        let reader = TestUser(gateway: gateway, role: "operator")
        let finished = try await withThrowingTaskGroup(of: String.self) { group in
            group.addTask {
                let answer = try await reader.browser.send("GET", "/api/v1/operator/usage")
                #expect(answer.status == 200, "\(answer.text)")
                return "figures"
            }
            try await eventually("the running statement") {
                try await database.row("select count(*) as count from pg_stat_activity where wait_event = 'PgSleep'").number("count") == 1
            }
            // Enough users for every connection that turns share.
            for _ in 1...24 {
                group.addTask {
                    expectDone(try await gateway.testUser().chat("Hello \(sim(["words": 3]))"))
                    return "turn"
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(finished.count == 25 && finished.last == "figures", "\(finished)")
    }

    @Test("billing events, however many are sent at once, occupy four connections of their own: figures are answered while they wait")
    func waitingBillingEvents() async throws {
        let database = try await Database.ofItsOwn()
        let gateway = try await Gateway(
            database: database.gatewayURL, simulator: try await TestBed.shared().simulator.url,
            environment: ["REVENUECAT_WEBHOOK_AUTH": "password"])
        try await database.fresh.psql(
            """
            create table public.release ();
            create function public.wait_for_release() returns trigger language plpgsql security definer set search_path = '' as $$
            begin
                while not exists (select from public.release) loop
                    perform pg_sleep(0.01);
                end loop;
                return new;
            end $$;
            create trigger wait_for_release before insert on gateway.billing_events
                for each row execute function public.wait_for_release();
            """)
        let folding = """
            select count(*) as count from pg_stat_activity
            where datname = current_database() and pid <> pg_backend_pid() and state = 'active' and query like '%fold_billing_event%'
            """
        try await withThrowingTaskGroup { group in
            for _ in 1...12 {
                let event = try RevenueCatEvents.body("INITIAL_PURCHASE", UUID().uuidString.lowercased())
                group.addTask {
                    // Sent again, as the sender does, when the time limit of statements has ended one that waited.
                    try await eventually("the intake") {
                        try await Browser(port: gateway.port).send(
                            "POST", RevenueCatEvents.path, body: event, headers: ["Authorization": "password"]
                        ).status == 200
                    }
                }
            }
            try await eventually("waiting events") { try await database.row(folding).number("count") ?? 0 >= 2 }
            let answer = try await TestUser(gateway: gateway, role: "operator").browser.send("GET", "/api/v1/operator/usage")
            #expect(answer.status == 200, "\(answer.text)")
            #expect(try await database.row(folding).number("count") ?? 0 >= 2)
            try await database.fresh.psql("insert into public.release default values")
            try await group.waitForAll()
        }
        let stored = try await database.row("select count(*) as count from gateway.billing_events where status = 'folded'")
        #expect(stored.number("count") == 12)
    }
}
