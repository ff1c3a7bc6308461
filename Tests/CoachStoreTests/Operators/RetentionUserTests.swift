import CoachCore
import CoachStore
import Foundation
import JSON
import PostgresClient
import TestSupport
import Testing

@Suite("Users behind the figures of retention")
struct RetentionUserTests {
    private static let day: TimeInterval = 86_400
    private static let period = FigureSample.today.addingTimeInterval(-70 * day)..<FigureSample.today.addingTimeInterval(2 * day)

    /// All users of a row, or of all rows, page by page: cohort, week, user, days, their number, turns.
    private func users(
        _ figures: Figures, _ caller: Caller, cohort: Date? = nil, week: Int? = nil, limit: Int
    ) async throws -> [[String]] {
        var rows: [[String]] = []
        var cursor: String?
        repeat {
            let query = RetentionQuery(period: Self.period, cohort: cohort, week: week)
            let table = try await figures.retentionUsers(caller, query, PageRequest(limit: limit, cursor: cursor))
            #expect(table.rows.count <= limit && table.asOf != nil)
            rows += table.texts(.retentionUsers, ["cohort", "week", "user_id", "days", "active_days", "turns"])
            cursor = table.nextCursor
        } while cursor != nil
        return rows
    }

    @Test("are as many as each row counts, page by page, with the days of the ledger; removed ones have no id")
    func trace() async throws {
        let store = try await StoreFixture()
        let (callers, turns) = ((0..<6).map { _ in Caller.someone() }, store.turns())
        var random = SeededGenerator(state: 29)
        for caller in callers {
            for _ in 0..<8 {
                let days = TimeInterval(Int.random(in: 0..<60, using: &random))
                try await store.move(try await turns.talk(caller, "Hello"), to: FigureSample.today.addingTimeInterval(-days * Self.day))
                // A day that is folded later may be of an earlier week.
                if Int.random(in: 0..<3, using: &random) == 0 { _ = try await store.value("select gateway.fold_rollups(7)::text") }
            }
        }
        try await store.foldRollups()

        let (figures, admin) = (Figures.postgres(client: store.gateway), Caller.someone(role: .operator))
        let retention = Figure.all("usage/retention")
        let table = try await figures.table(admin, retention, FigureQuery(period: Self.period, groups: [], grain: .day))
        #expect(table.rows.count > 5)
        var sum = 0
        for row in table.rows {
            guard case .time(let cohort) = row[0], case .integer(let week) = row[1], case .integer(let count) = row[2] else {
                Issue.record("\(row)")
                continue
            }
            let found = try await users(figures, admin, cohort: cohort.date, week: Int(week), limit: 2)
            #expect(found.count == Int(count) && Set(found.map { $0[2] }).count == found.count, "\(row)")
            #expect(found.allSatisfy { $0[0] == cohort.rfc3339 && $0[1] == "\(week)" }, "\(found)")
            sum += found.count
        }
        let all = try await users(figures, admin, limit: 7)
        #expect(all.count == sum)
        let ledger = try await store.admin.query(
            """
            select concat_ws('|', min(u.id::text), string_agg(d.day::text, ' ' order by d.day), count(*), sum(d.turns))
            from (
                select l.account_id, l.day, count(distinct l.turn_id) as turns from public.usage_logs l where l.status is not null group by 1, 2) as d
            join public.users u on u.account_id = d.account_id
            group by d.account_id, date_trunc('week', d.day::timestamp)
            """
        ) { rows in try rows.map { row in try row.value(0, as: String.self) } }
        #expect(all.map { $0[2...].joined(separator: "|") }.sorted() == ledger.sorted())

        try await store.admin.execute("delete from public.users where id = \(callers[0].userID.uuid)")
        let rest = try await users(figures, admin, limit: 100)
        #expect(rest.count == sum && !rest.contains { $0[2] == callers[0].userID.description })
        #expect(rest.count { $0[2] == "-" } == all.count { $0[2] == callers[0].userID.description })
    }

    @Test("do not tell who had a fixed text of a crisis: it is counted, and not listed")
    func danger() async throws {
        let store = try await StoreFixture()
        let (callers, turns) = ([Caller.someone(), .someone()], store.turns())
        _ = try await turns.talk(callers[0], "Hello")
        for caller in callers {
            let identity = try await turns.begin(caller, TurnRequest(message: "Hello"), risk: .danger(.crisis)).begun.identity
            var receipt = TurnReceipt.complete(identity, of: caller, "Please call.", domain: nil)
            (receipt.bill, receipt.finishReason) = (nil, .safety)
            try await turns.finish(receipt)
        }
        try await store.foldRollups()
        let (figures, admin) = (Figures.postgres(client: store.gateway), Caller.someone(role: .operator))
        let query = FigureQuery(period: Self.period, groups: [], grain: .day)
        let table = try await figures.table(admin, .all("usage/retention"), query)
        #expect(table.texts(.all("usage/retention"), ["users"]) == [["2"]])
        let found = try await users(figures, admin, limit: 1)
        #expect(found.map { $0[2] } == [callers[0].userID.description] && found[0][5] == "1", "\(found)")
    }

    @Test("are for operators, and a cursor of another list is rejected")
    func rejections() async throws {
        let store = try await StoreFixture.shared()
        let (figures, query) = (Figures.postgres(client: store.gateway), RetentionQuery(period: Self.period))
        await #expect(throws: NotAllowed.self) { try await figures.retentionUsers(.someone(), query, PageRequest(limit: 1)) }
        let account = UUID().uuidString
        for cursor in [
            "x", "x/0/\(account)", "2026-03-02/99999999999/\(account)", "2026-03-02/0/x", "2026-03-02 00:00+99:99/0/\(account)",
        ] {
            await #expect(throws: InvalidCursor.self, "\(cursor)") {
                try await figures.retentionUsers(.someone(role: .operator), query, PageRequest(limit: 1, cursor: cursor))
            }
        }
    }

    @Test("a page of them reads few of a large cohort")
    func pages() async throws {
        let store = try await StoreFixture()
        for statement in [
            "insert into gateway.retention_weeks select '2031-03-03', '2031-03-03'::date + 7 * w, 40000 from generate_series(0, 1) as w",
            """
            insert into gateway.account_weeks (cohort, week, account_id, is_active)
            select r.cohort, r.week, md5(n::text)::uuid, true from gateway.retention_weeks r cross join generate_series(1, 40000) as n
            """,
            """
            insert into gateway.account_days (account_id, day, turns, messages)
            select w.account_id, w.week + 2, 1, 1 from gateway.account_weeks w
            """,
            "vacuum analyze gateway.retention_weeks", "vacuum analyze gateway.account_weeks", "vacuum analyze gateway.account_days",
        ] {
            try await store.admin.execute(Query(unsafeSQL: statement))
        }
        for after in ["null", "array['2031-03-03', '1', md5('7')::uuid::text]"] {
            let page = "retention_users('2031-03-03+00', '2031-03-10+00', '2031-03-03+00', 1, \(after), 101)"
            #expect(try await store.operatorRows(page).count == 101, "\(after)")
            #expect(try await store.operatorPages(page) < 1_500, "\(after)")
        }
    }
}
