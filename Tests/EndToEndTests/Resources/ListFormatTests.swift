import Foundation
import TestSupport
import Testing

/// Figures are of all users: these tests have a database of their own.
@Suite("Formats of operators' lists", .paced)
struct ListFormatTests {
    @Test("every list has the same rows as JSON, CSV and JSON Lines, and says how far it is; errors and retention lead to their rows")
    func formats() async throws {
        let database = try await Database.ofItsOwn()
        let gateway = try await Gateway(database: database.gatewayURL, simulator: try await TestBed.shared().simulator.url)
        let user = gateway.testUser()
        for domain in ["fitness", "mindset"] { expectDone(try await user.chat("Hello \(sim(["words": 5]))", ["domain": domain])) }
        _ = try await user.chat("Hello \(sim(["http_error": ["status": 400]]))")
        let editor = TestUser(gateway: gateway, role: "operator")
        let path = "/api/v1/operator/users/\(user.id)/suspend"
        #expect(try await editor.send("POST", path, ["reason": #"=1+1, "so""#]).status == 200)
        try await database.fresh.psql(DashboardViewTests.history)
        try await eventually("the figures") {
            let state = try await database.row(
                """
                select (select s.as_of from gateway.rollup_state s) >= (select max(l.booked_at) from usage_logs l) as are_whole,
                    (select coalesce(sum(d.errors), 0) from gateway.usage_days d) as errors
                """)
            return state.flag("are_whole") == true && state.number("errors") ?? 0 > 0
        }

        let paths = try await lists(gateway)
        #expect(paths.count > 15, "\(paths)")
        for path in paths {
            var found: String?
            do {
                // What changes between two reads is read again, by another operator: one's requests are limited.
                try await eventually(within: .seconds(20), path) {
                    found = try await difference(in: path, TestUser(gateway: gateway, role: "operator"))
                    return found == nil
                }
            } catch { Issue.record("\(path): \(found ?? "\(error)")") }
        }
        for name in ["costs", "calls", "errors", "audit", "alerts", "reports", "safety", "subscriptions", "usage/retention/users"] {
            #expect(try await !editor.send("GET", "/api/v1/operator/\(name)").list.isEmpty, "\(name) has no row to compare")
        }
        let account = try await editor.send("GET", "/api/v1/operator/users?id=\(user.id)")
        #expect(account.json.object("meta")["as_of"] != nil, "\(account.text)")

        let errors = try await editor.send("GET", "/api/v1/operator/errors?group_by=code")
        let trace = try #require(errors.json.object("meta")["trace"])
        #expect(trace.hasSuffix("&error_code=*"), "\(trace)")
        for row in errors.list {
            let code = try #require(row["code"])
            let calls = try await editor.send("GET", trace.replacing("error_code=*", with: "error_code=\(code)")).list
            #expect(calls.count == row.number("errors") && calls.allSatisfy { $0["error_code"] == code }, "\(calls)")
        }
        let all = try await editor.send("GET", trace).list
        #expect(all.count == errors.list.compactMap { $0.number("errors") }.reduce(0, +))

        let retention = try await editor.send("GET", "/api/v1/operator/usage/retention")
        let users = try #require(retention.json.object("meta")["trace"])
        #expect(!retention.list.isEmpty && users.hasPrefix("/api/v1/operator/usage/retention/users?"), "\(retention.text)")
        for row in retention.list {
            let (cohort, week) = (try #require(row["cohort"]), try #require(row.number("week")))
            let found = try await editor.send("GET", "\(users)&cohort=\(cohort)&week=\(week)").list
            #expect(found.count == row.number("users") && found.contains { $0["user_id"] == user.id }, "\(found)")
            #expect(found.allSatisfy { $0["cohort"] == cohort && $0.number("week") == week && $0["content"] == nil }, "\(found)")
        }
    }

    /// The routes of lists below `operator`, of a document those of the domain fitness.
    private func lists(_ gateway: Gateway) async throws -> [String] {
        let document = try await Browser(port: gateway.port).send("GET", "/openapi.json")
        let json = try JSONSerialization.jsonObject(with: Data(document.body)) as? [String: Any]
        let paths = try #require(json?["paths"] as? [String: [String: [String: Any]]])
        return paths.compactMap { path, operations -> String? in
            let responses = operations["get"]?["responses"] as? [String: [String: Any]]
            guard path.hasPrefix("/api/v1/operator/"), let content = responses?["200"]?["content"] as? [String: Any],
                content["text/csv"] != nil
            else { return nil }
            return path.replacing("{id}", with: "fitness")
        }.sorted()
    }

    /// How the three forms of a list differ; nil when they do not.
    private func difference(in path: String, _ reader: TestUser) async throws -> String? {
        func get(_ type: String) async throws -> Answer { try await reader.browser.send("GET", path, headers: ["Accept": type]) }
        let (json, csv, lines) = (try await get("application/json"), try await get("text/csv"), try await get("application/x-ndjson"))
        for answer in [json, csv, lines] where answer.status != 200 { return answer.text }
        guard csv.headers["content-type"]?.hasPrefix("text/csv") == true,
            lines.headers["content-type"]?.hasPrefix("application/x-ndjson") == true
        else { return "\(csv.headers) \(lines.headers)" }
        // Documents have versions instead.
        if !path.hasSuffix("/versions"), !path.hasSuffix("/domain-configs") {
            let times = [json.json.object("meta")["as_of"], csv.headers["x-figures-as-of"], lines.headers["x-figures-as-of"]]
            guard !times.contains(nil) else { return "as of \(times)" }
        }
        // Both are written by the same functions.
        guard json.text.contains("\"data\":[\(lines.text.split(separator: "\n").joined(separator: ","))]") else {
            return "\(json.text)\n\(lines.text)"
        }
        let (rows, cells) = (json.list, Self.rows(csv: csv.text))
        guard let names = cells.first, cells.count == rows.count + 1, rows.allSatisfy({ $0.names == Set(names) }) else {
            return "\(json.text)\n\(csv.text)"
        }
        for (row, cells) in zip(rows, cells.dropFirst()) {
            for (name, cell) in zip(names, cells) where !Self.isSame(cell, row, name) { return "\(name) \(cell) \(row)" }
        }
        return nil
    }

    private static func isSame(_ cell: String, _ row: JSONObject, _ name: String) -> Bool {
        if row.isNull(name) { return cell.isEmpty }
        // An apostrophe keeps a spreadsheet from computing a text.
        if let text = row[name] { return cell == text || cell == "'" + text && "=+-@\t\r\n".contains(text.prefix(1)) }
        if let flag = Bool(cell) { return row.flag(name) == flag }
        return Double(cell) != nil && Double(cell) == row.real(name)
    }

    /// RFC 4180.
    private static func rows(csv text: String) -> [[String]] {
        var (rows, row, cell) = ([[String]](), [String](), "")
        var (isQuoted, wasQuote) = (false, false)
        for scalar in text.unicodeScalars {
            guard scalar != "\"" else {
                // Two in a quoted cell are one.
                if !isQuoted, wasQuote { cell.unicodeScalars.append(scalar) }
                wasQuote = isQuoted
                isQuoted.toggle()
                continue
            }
            wasQuote = false
            switch scalar {
            case "," where !isQuoted:
                row.append(cell)
                cell = ""
            case "\n" where !isQuoted:
                rows.append(row + [cell])
                (row, cell) = ([], "")
            case "\r" where !isQuoted: break
            default: cell.unicodeScalars.append(scalar)
            }
        }
        return rows
    }
}
