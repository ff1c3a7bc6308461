import CoachCore
import CoachStore
import Foundation
import JSON
import PostgresClient
import Testing

@Suite("Operators' figures")
struct FigureTests {
    private func read(_ table: FigureTable, _ figure: Figure, _ names: [String]) -> [[String]] { table.texts(figure, names) }

    @Test("costs are sums of calls in the wanted groups, a correction counts once, and an unknown price is no cost")
    func costs() async throws {
        let store = try await StoreFixture()
        let (alice, bob, turns) = (Caller.someone(), Caller.someone(), store.turns())
        for caller in [alice, alice, bob] { try await turns.talk(caller, "Hello") }
        let unpriced = try await turns.begin(bob, TurnRequest(message: "Hi"), risk: .calm).begun.identity
        try await turns.finish(.complete(unpriced, of: bob, domain: .fitness, cost: nil))
        // Recorded before its request, without a receipt: not a cost yet. Nor is a call that nobody accepted.
        _ = try await turns.begin(bob, TurnRequest(message: "Still running"), risk: .calm).begun
        try await turns.talk(.someone(), "Nobody answers", status: .failed)
        // An estimate of recovery, and the owner's receipt that replaces it.
        let late = try await turns.begin(alice, TurnRequest(message: "Late"), risk: .calm).begun.identity
        var estimate = TurnReceipt.complete(late, of: alice, "Part", cost: Nanodollars(1_000_000))
        estimate.finalizedBy = .recovery
        try await turns.finish(estimate)
        try await turns.finish(.complete(late, of: alice, "Whole"))
        try await store.foldRollups()

        let (figures, admin) = (Figures.postgres(client: store.gateway), Caller.someone(role: .operator))
        func costs(_ groups: [String], _ grain: FigureQuery.Grain = .day, tz: String = "UTC") async throws -> FigureTable {
            try await figures.table(admin, .costs, FigureSample.query(groups, grain, tz: tz))
        }
        let measures = ["turns", "input_tokens", "cached_input_tokens", "output_tokens", "cost_usd", "unpriced_turns"]
        for (grain, tz) in [(FigureQuery.Grain.day, "UTC"), (.hour, "UTC"), (.day, "Asia/Kolkata"), (.week, "Europe/Berlin")] {
            let total = try await costs([], grain, tz: tz)
            #expect(read(total, .costs, measures) == [["5", "500", "50", "125", "493824", "1"]], "\(grain) \(tz)")
            let days = try await costs(["day"], grain, tz: tz)
            #expect(read(days, .costs, ["turns"]).compactMap { Int($0[0]) }.reduce(0, +) == 5, "\(grain) \(tz)")
            for row in read(days, .costs, ["day"]) {
                let start = try await store.value(
                    """
                    select to_char(date_trunc(\(grain.rawValue), \(row[0])::timestamptz, \(tz)) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.000"Z"')
                    """)
                #expect(row[0] == start, "\(grain) \(tz)")
            }
        }
        let total = try await costs([])
        let age = try #require(total.asOf).timeIntervalSinceNow
        #expect(age < 1 && age > -60)
        #expect(
            read(try await costs(["domain"]), .costs, ["domain", "turns", "cost_usd", "unpriced_turns"]) == [
                ["mindset", "4", "493824", "0"], ["fitness", "1", "-", "1"],
            ])
        for groups in [["user", "model", "day"], ["user"], ["persona", "user", "tier"]] {
            let rows = read(try await costs(groups), .costs, ["user_id", "turns", "cost_usd"])
            #expect(Set(rows) == [[alice.userID.description, "3", "370368"], [bob.userID.description, "2", "123456"]], "\(groups)")
        }
        #expect(read(try await costs(["persona", "provider"]), .costs, ["persona_id", "provider", "turns"]) == [["-", "simulator", "5"]])
        await #expect(throws: InvalidFigureQuery.self) { try await costs(["message"]) }
        await #expect(throws: InvalidFigureQuery.self) { try await costs(["day"], tz: "Mars/Olympus") }
        await #expect(throws: NotAllowed.self) { try await figures.table(alice, .costs, FigureSample.query([])) }

        let page = try await figures.table(admin, .costs, FigureSample.query(["user"], limit: 1))
        #expect(page.rows.count == 1 && page.nextCursor != nil)
        var rest = FigureSample.query(["user"], limit: 1)
        rest.cursor = page.nextCursor
        let last = try await figures.table(admin, .costs, rest)
        #expect(last.rows.count == 1 && last.nextCursor == nil && last.rows != page.rows)
    }

    @Test("a row that is added or removed between two pages moves no other one")
    func pages() async throws {
        let store = try await StoreFixture()
        let day = "\(CalendarDay(containing: FigureSample.today))"
        func add(_ models: [(model: String?, domain: String?)]) async throws {
            for (model, domain) in models {
                try await store.admin.execute(
                    """
                    insert into gateway.usage_days (day, tier, model, domain, calls, turns)
                    values (\(day)::date, 'free', \(model), \(domain)::public.coaching_domain, 1, 1)
                    """)
            }
        }
        // By these the page finds the days with calls.
        try await store.admin.execute(
            "insert into gateway.key_hours (bucket, key, tier, calls) values (\(day)::timestamp at time zone 'UTC', 'tier', 'free', 7)")
        try await add([("b", "mindset"), ("b", "fitness"), ("b", nil), ("d/é-%", nil), ("f", "mindset"), (nil, "fitness"), (nil, nil)])
        let (figures, admin) = (Figures.postgres(client: store.gateway), Caller.someone(role: .operator))
        var query = FigureSample.query(["day", "model", "domain"], limit: 1_000)
        let whole = read(try await figures.table(admin, .costs, query), .costs, ["model", "domain"])
        #expect(whole.count == 7 && whole.last == ["-", "-"])
        query.limit = 1
        var found: [[String]] = []
        repeat {
            let table = try await figures.table(admin, .costs, query)
            found += read(table, .costs, ["model", "domain"])
            query.cursor = table.nextCursor
            if found.count == 3 { try await add([("a", nil), ("a", "fitness"), ("e", nil)]) }
            if found.count == 5 { try await store.admin.execute("delete from gateway.usage_days where model = 'b'") }
        } while query.cursor != nil
        #expect(found == Array(whole[..<4]) + [["e", "-"]] + Array(whole[4...]))
        for cursor in ["1", "x/-/-/-/-/-/-", "-/-/-/mind/-/-/-", "-/%00/-/-/-/-/-", "-/-/-/-/-/-/-/-"] {
            query.cursor = cursor
            await #expect(throws: InvalidCursor.self, "\(cursor)") { try await figures.table(admin, .costs, query) }
        }
    }

    @Test("usage, domains, errors, providers and latency of the same turns fit each other")
    func others() async throws {
        let store = try await StoreFixture()
        let turns = store.turns()
        let caller = Caller.someone()
        let first = try await turns.begin(caller, TurnRequest(message: "Hello"), risk: .calm).begun
        try await turns.finish(.complete(first.identity, of: caller))
        try await turns.talk(caller, "Again", in: first.identity.conversationID)
        let stranger = Caller.someone()
        let generic = try await turns.begin(stranger, TurnRequest(message: "Hm"), risk: .calm).begun.identity
        try await turns.finish(.complete(generic, of: stranger, domain: nil))
        try await turns.talk(stranger, "Nobody answers", status: .failed)
        try await store.foldRollups()

        let (figures, admin) = (Figures.postgres(client: store.gateway), Caller.someone(role: .operator))
        func table(_ figure: Figure, _ groups: [String], _ columns: [String], _ grain: FigureQuery.Grain = .day) async throws -> [[String]]
        {
            read(try await figures.table(admin, figure, FigureSample.query(groups, grain)), figure, columns)
        }
        let usage = try await table(
            .all("usage"), ["day"],
            [
                "active_users", "weekly_active_users", "monthly_active_users", "conversations", "messages", "messages_per_conversation",
                "turns", "errors",
            ])
        #expect(usage == [["0", "0", "0", "0", "0", "-", "0", "0"], ["2", "2", "2", "3", "4", "1.33", "3", "1"]])
        // The week has each user once, and today's turns; conversations are not kept by weeks.
        let weeks = try await table(
            .all("usage"), ["day"],
            ["active_users", "weekly_active_users", "conversations", "messages", "messages_per_conversation", "turns", "errors"], .week)
        #expect(weeks.last == ["2", "2", "-", "4", "-", "3", "1"] && weeks.count <= 2)
        await #expect(throws: InvalidFigureQuery.self) { try await table(.all("usage"), ["day"], [], .hour) }
        #expect(try await table(.all("usage/retention"), [], ["week", "users", "cohort_users", "share"]) == [["0", "2", "2", "1.0000"]])
        #expect(
            try await table(.all("domains"), ["domain"], ["domain", "turns", "share", "confidence", "abstentions", "first_token_p50_ms"])
                == [["mindset", "3", "0.7500", "0.7500", "0", "115.098"], ["-", "1", "0.2500", "-", "1", "115.098"]])
        #expect(
            try await table(.all("errors"), ["day", "code"], ["code", "errors", "share"]) == [["EXT_4001", "1", "0.2500"]])
        #expect(
            try await table(.all("providers"), ["provider"], ["provider", "calls", "errors", "whole_turn_p95_ms"])
                == [["simulator", "3", "0", "920.782"], ["-", "0", "1", "-"]])
        // 120 ms, 900 ms and 780 ms for 19 further tokens, within 4.4 %.
        for grain in [FigureQuery.Grain.day, .hour] {
            let names = ["model", "first_token_p50_ms", "first_token_p99_ms", "per_token_p95_ms", "whole_turn_p90_ms", "turns"]
            let rows = try await table(.all("latency"), ["day", "model"], names, grain)
            #expect(rows.allSatisfy { $0.dropLast() == ["coach-sim", "115.098", "115.098", "40.693", "920.782"] }, "\(grain): \(rows)")
            #expect(rows.compactMap { Int($0[5]) }.reduce(0, +) == 3)
        }
        // With a model, too, it is kept by days.
        await #expect(throws: InvalidFigureQuery.self) { try await table(.all("latency"), ["day", "domain", "model"], [], .hour) }
    }

    @Test("a corrected model takes its turns' latency with it, and leaves no row of the former one")
    func correctedLatency() async throws {
        let store = try await StoreFixture()
        let (caller, turns) = (Caller.someone(), store.turns())
        let identity = try await turns.begin(caller, TurnRequest(message: "Hello"), risk: .calm).begun.identity
        var receipt = TurnReceipt.complete(identity, of: caller)
        receipt.finalizedBy = .recovery
        try await turns.finish(receipt)
        try await store.foldRollups()
        receipt.finalizedBy = .owner
        receipt.bill?.name.model = "coach-sim-2"
        receipt.timeToFirstTokenMilliseconds = 240
        try await turns.finish(receipt)
        try await store.foldRollups()

        let (figures, admin) = (Figures.postgres(client: store.gateway), Caller.someone(role: .operator))
        for (grain, zone) in [(FigureQuery.Grain.day, "UTC"), (.hour, "UTC"), (.day, "Asia/Kolkata"), (.hour, "Asia/Kolkata")] {
            let table = try await figures.table(admin, .all("latency"), FigureSample.query(["day", "model"], grain, tz: zone))
            let rows = read(table, .all("latency"), ["model", "turns", "first_token_p50_ms", "first_token_p99_ms"])
            #expect(rows == [["coach-sim-2", "1", "230.195", "230.195"]], "\(grain) \(zone)")
        }
    }

    @Test("in a time zone of half hours, and for periods of quarters, figures have all turns of the period and no others")
    func halfHours() async throws {
        let store = try await StoreFixture()
        let (caller, turns) = (Caller.someone(), store.turns())
        let (day, minute) = (FigureSample.today.addingTimeInterval(-5 * 86_400), TimeInterval(60))
        // Midnight in India is at 18:30 UTC.
        let midnight = day.addingTimeInterval(18.5 * 3_600)
        for minutes in [-15, 15, 90, 1_425, 1_455] as [TimeInterval] {
            try await store.move(try await turns.talk(caller, "Hello"), to: midnight.addingTimeInterval(minutes * minute))
        }
        try await store.move(try await turns.talk(caller, "No", status: .failed), to: midnight.addingTimeInterval(15 * minute))
        try await store.foldRollups()

        let (figures, admin) = (Figures.postgres(client: store.gateway), Caller.someone(role: .operator))
        func rows(
            _ path: String, _ groups: [String], _ names: [String], hours: Double = 24, _ grain: FigureQuery.Grain = .day,
            tz: String = "Asia/Kolkata"
        ) async throws -> [[String]] {
            let query = FigureQuery(
                period: midnight..<midnight.addingTimeInterval(hours * 3_600), groups: groups, grain: grain, timeZone: tz)
            return read(try await figures.table(admin, .all(path), query), .all(path), names)
        }
        let start = Timestamp(midnight).rfc3339
        for tz in ["Asia/Kolkata", "UTC"] {
            #expect(try await rows("costs", [], ["turns"], tz: tz) == [["3"]], "\(tz)")
            #expect(try await rows("latency", [], ["turns"], tz: tz) == [["3"]], "\(tz)")
        }
        #expect(try await rows("costs", ["day"], ["day", "turns"]) == [[start, "3"]])
        #expect(try await rows("latency", ["day"], ["day", "turns"]) == [[start, "3"]])
        #expect(try await rows("errors", ["day", "code"], ["day", "code", "errors", "share"]) == [[start, "EXT_4001", "1", "0.2500"]])
        #expect(
            try await rows("errors", ["day"], ["day", "errors"], .hour, tz: "UTC")
                == [[Timestamp(day.addingTimeInterval(18 * 3_600)).rfc3339, "1"]])
        // Its hours, and those of a period that ends within one.
        let hours = [0, 1, 23].map { Timestamp(midnight.addingTimeInterval($0 * 3_600)).rfc3339 }
        for path in ["latency", "domains"] {
            #expect(try await rows(path, ["day"], ["day", "first_token_p50_ms"], .hour) == hours.map { [$0, "115.098"] }, "\(path)")
        }
        #expect(try await rows("latency", ["day"], ["day", "turns"], hours: 23.75, .hour) == hours.dropLast().map { [$0, "1"] })
        #expect(
            try await rows("latency", ["day", "domain"], ["domain", "turns"], hours: 1.75, .hour) == [["mindset", "1"], ["mindset", "1"]])
        // Half an hour.
        #expect(try await rows("latency", [], ["turns", "first_token_p50_ms"], hours: 0.5) == [["1", "115.098"]])
        #expect(
            try await rows("providers", ["provider"], ["provider", "calls", "first_token_p50_ms"], hours: 0.5)
                == [["simulator", "1", "115.098"], ["-", "0", "-"]])
    }

    @Test(
        "a call that its provider did not accept is an error of the provider, though another one answered, in each way of making the figures"
    )
    func healed() async throws {
        let store = try await StoreFixture()
        let (caller, turns) = (Caller.someone(), store.turns())
        for number in 1...4 {
            let identity = try await turns.begin(caller, TurnRequest(message: "Hello"), risk: .calm).begun.identity
            var receipt = TurnReceipt.complete(identity, of: caller)
            receipt.otherCalls =
                number.isMultiple(of: 2) ? [BilledCall(number: 3, name: ModelName(provider: "down", model: "m"), bill: nil)] : nil
            try await turns.finish(receipt)
            if number == 2 { try await store.foldRollups() }
        }
        // What an estimate of recovery lacks, the owner's receipt has.
        let late = try await turns.begin(caller, TurnRequest(message: "Late"), risk: .calm).begun.identity
        var receipt = TurnReceipt.complete(late, of: caller)
        receipt.finalizedBy = .recovery
        try await turns.finish(receipt)
        try await store.foldRollups()
        receipt.finalizedBy = .owner
        receipt.otherCalls = [BilledCall(number: 3, name: ModelName(provider: "down", model: "m"), bill: nil)]
        try await turns.finish(receipt)
        try await store.foldRollups()

        let (figures, admin) = (Figures.postgres(client: store.gateway), Caller.someone(role: .operator))
        func providers() async throws -> [[String]] {
            let table = try await figures.table(admin, .all("providers"), FigureSample.query(["provider"]))
            return read(table, .all("providers"), ["provider", "calls", "errors", "error_share"])
        }
        let expected = [["down", "0", "3", "1.0000"], ["simulator", "5", "0", "0.0000"]]
        #expect(try await providers() == expected)
        let usage = try await figures.table(admin, .all("usage"), FigureSample.query(["day"]))
        #expect(read(usage, .all("usage"), ["active_users", "conversations", "messages", "errors"]).last == ["1", "5", "5", "0"])
        try await store.admin.execute("call gateway.rebuild_rollups()")
        #expect(try await providers() == expected)
    }

    @Test("operators read the reports of all users, newest first")
    func reports() async throws {
        let store = try await StoreFixture()
        let (caller, admin) = (Caller.someone(), Caller.someone(role: .operator))
        try await store.turns().talk(caller, "Hello")
        for number in 0..<3 {
            try await store.admin.execute(
                """
                insert into public.reports (user_id, message_id, reason, comment, created_at)
                values (\(caller.userID.uuid), gen_random_uuid(), 'harmful', \("comment \(number)"), now() + make_interval(secs => \(number)))
                """)
        }
        let figures = Figures.postgres(client: store.gateway)
        let first = try await figures.reports(admin, PageRequest(limit: 2))
        #expect(read(first, .reports, ["comment", "reason"]) == [["comment 2", "harmful"], ["comment 1", "harmful"]])
        let second = try await figures.reports(admin, PageRequest(limit: 2, cursor: first.nextCursor))
        #expect(read(second, .reports, ["comment", "user_id"]) == [["comment 0", caller.userID.description]] && second.nextCursor == nil)
        await #expect(throws: InvalidCursor.self) { try await figures.reports(admin, PageRequest(limit: 2, cursor: "1")) }
        await #expect(throws: NotAllowed.self) { try await figures.reports(caller, PageRequest(limit: 2)) }
    }
}
