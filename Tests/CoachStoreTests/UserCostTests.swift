import CoachCore
import PostgresClient
import Testing

@Suite("Costs by user, a page at a time")
struct UserCostTests {
    /// Rows of a function of schema `operator`, as an operator reads them.
    private func rows(_ function: String, _ store: StoreFixture) async throws -> [[String?]] {
        let caller = Caller.someone(role: .operator)
        let claims: Query = """
            select set_config('request.jwt.claims', \(caller.claims), true), \
            set_config('request.jwt.claim.sub', \(caller.userID.description), true)
            """
        return try await store.gateway.batch([claims, Query(unsafeSQL: "select * from operator.\(function)")]) { rows in
            (0..<rows.count).map { row in (0..<rows.columnCount).map { rows.text(row, $0) } }
        }
    }

    /// The argument that names the row before a page, from the text of that row.
    private func after(_ row: [String?]?) -> String {
        guard let row else { return "null" }
        let day = row[0].map { "(extract(epoch from '\($0)'::timestamptz) * 1000000)::bigint::text" } ?? "null"
        return "array[\(day), \(row[5].map { "'\($0)'" } ?? "null")]"
    }

    @Test(
        "pages of any size are the whole table, with removed users and days without anybody",
        arguments: [("user", 2031), ("day,user", 2032)])
    func pages(groups: String, year: Int) async throws {
        let store = try await StoreFixture.shared()
        // Seven accounts, two of removed users, and one without a call.
        try await store.admin.execute(
            Query(
                unsafeSQL: """
                    with account as (select n, md5('\(year)-' || n)::uuid as id from generate_series(1, 7) as n),
                        kept as (
                            insert into public.users (id, account_id) select gen_random_uuid(), a.id from account a where n not in (2, 5))
                    insert into gateway.account_days (account_id, day, calls, turns, output_tokens, output_known, cost_nanodollars, priced_calls)
                    select a.id, '\(year)-01-01'::date + d, case when n = 7 then 0 else d + 1 end, d, n * d, n % 2, n * 10 + d, n % 3
                    from account a cross join generate_series(0, 24) as d where (n + d) % 5 < 2
                    """))
        for grain in ["day", "week"] {
            let period = "'\(year)-01-01+00', '\(year)-01-31+00', '{\(groups)}', '\(grain)', 'UTC'"
            let whole = try await rows("costs(\(period))", store)
            #expect(whole.count >= 5 && whole.contains { $0[5] == nil })
            for size in [1, 2, 3, 7, 1_000] {
                var pages: [[String?]] = []
                while true {
                    let page = try await rows("user_costs(\(period), \(size), \(after(pages.last)))", store)
                    pages += page
                    if page.count < size { break }
                }
                #expect(pages == whole, "pages of \(size) by \(grain)")
            }
            #expect(try await rows("user_costs(\(period), 5, \(after(whole.last)))", store).isEmpty)
        }
    }
}
