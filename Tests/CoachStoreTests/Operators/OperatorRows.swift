import CoachCore
import PostgresClient

extension StoreFixture {
    /// Rows of a function of schema `operator`, as an operator reads them.
    func operatorRows(_ function: String) async throws -> [[String?]] { try await asOperator("select * from operator.\(function)") }

    /// Pages that PostgreSQL reads for a function of schema `operator`, when what it knows of the tables is in the connection's caches.
    func operatorPages(_ function: String) async throws -> Int {
        try await pages(of: "operator.\(function)") { try await self.asOperator($0) }
    }

    /// The same for a function that the gateway calls for no user.
    func pages(of function: String) async throws -> Int {
        try await pages(of: function) { statement in
            try await self.gateway.query(Query(unsafeSQL: statement)) { rows in (0..<rows.count).map { [rows.text($0, 0)] } }
        }
    }

    private func pages(of function: String, rows: (String) async throws -> [[String?]]) async throws -> Int {
        var fewest = Int.max
        for _ in 0..<6 {
            let plan = try await rows("explain (analyze, buffers, format json) select * from \(function)")
            let text = plan.compactMap { $0[0] }.joined()
            // The first are those of the whole plan.
            let counts = ["Hit", "Read"].map { name in
                text.split(separator: "\"Shared \(name) Blocks\": ", maxSplits: 1).last.flatMap { Int($0.prefix(while: \.isNumber)) } ?? 0
            }
            fewest = min(fewest, counts.reduce(0, +))
        }
        return fewest
    }

    private func asOperator(_ statement: String) async throws -> [[String?]] {
        let caller = Caller.someone(role: .operator)
        let claims: Query = """
            select set_config('request.jwt.claims', \(caller.claims), true), \
            set_config('request.jwt.claim.sub', \(caller.userID.description), true)
            """
        return try await gateway.batch([claims, Query(unsafeSQL: statement)]) { rows in
            (0..<rows.count).map { row in (0..<rows.columnCount).map { rows.text(row, $0) } }
        }
    }

    /// The argument of a page's function that names the row before the page, from the text of that row of costs.
    static func after(_ row: [String?]?) -> String {
        guard let row else { return "null" }
        let day = row[0].map { "(extract(epoch from '\($0)'::timestamptz) * 1000000)::bigint::text" } ?? "null"
        return "array[\(day), \(row[1..<7].map { $0.map { "'\($0)'" } ?? "null" }.joined(separator: ", "))]"
    }
}
