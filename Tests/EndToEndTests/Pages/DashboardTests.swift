import Foundation
import TestSupport
import Testing

@Suite("The dashboard", .paced)
struct DashboardTests {
    @Test(
        "shows the database's figures, edits a domain that the next turn uses, and violates no rule of accessibility",
        .enabled(if: PageScript.canRun, PageScript.reason))
    func dashboard() async throws {
        let simulator = try await TestBed.shared().simulator
        let database = try await Database.ofItsOwn()
        let gateway = try await Gateway(database: database.gatewayURL, simulator: simulator.url)
        let user = gateway.testUser()
        for words in [3, 40, 200] { expectDone(try await user.chat("How do I train? \(sim(["words": words]))", ["domain": "fitness"])) }
        // One turn is older than a week. The ledger refuses that, but to a superuser who stops its triggers.
        try await database.fresh.psql(
            """
            set session_replication_role = replica;
            update usage_logs set day = day - 20, booked_at = booked_at - interval '20 days'
            where turn_id = (select l.turn_id from usage_logs l order by l.booked_at limit 1)
            """)
        try await database.fresh.psql("call gateway.rebuild_rollups()")
        func sums(_ condition: String) async throws -> [String] {
            let row = try await database.row(
                "select sum(cost_usd)::text as cost, count(distinct turn_id) as turns from usage_logs where revision > 0 and \(condition)")
            return [try #require(row["cost"]), "\(try #require(row.number("turns")))"]
        }
        let (all, week) = (try await sums("true"), try await sums("day > (now() at time zone 'UTC')::date - 7"))
        #expect(all[1] == "3" && week[1] == "2")
        let marker = marker()
        try await PageScript.run(
            "dashboard.py",
            ["http://127.0.0.1:\(gateway.port)", PageScript.operatorToken()] + all + week + [user.id, marker])
        // Live on every instance within 2 s.
        try await eventually("a turn with the edited domain") {
            expectDone(try await user.chat("How do I train? \(sim(["words": 1]))", ["domain": "fitness"]))
            return try await simulator.requests(containing: marker).contains { $0.system.contains(marker) }
        }
    }

    @Test("an event refreshes the figures on the screen, without a reload", .enabled(if: PageScript.canRun, PageScript.reason))
    func live() async throws {
        let database = try await Database.ofItsOwn()
        let gateway = try await Gateway(database: database.gatewayURL, simulator: try await TestBed.shared().simulator.url)
        let user = Token(user: UUID().uuidString.lowercased()).text
        try await PageScript.run("live.py", ["http://127.0.0.1:\(gateway.port)", PageScript.operatorToken(), user])
    }

    @Test(
        "a refresh moves neither the focus nor tables, waits while it is held, and what was not done is said",
        .enabled(if: PageScript.canRun, PageScript.reason))
    func refreshes() async throws {
        let gateway = try await TestBed.shared().gateway
        try await PageScript.run("refreshes.py", ["http://127.0.0.1:\(gateway.port)", PageScript.operatorToken()])
    }

    @Test("a session is known to every instance, opens operators' routes alone, and ends with a sign-out or a suspension")
    func sessions() async throws {
        let testBed = try await TestBed.shared()
        let other = try await testBed.anotherGateway()
        let (here, there) = (Browser(port: testBed.gateway.port), Browser(port: other.port))
        let (id, path) = (UUID().uuidString.lowercased(), "/operator/session")
        let token = Token(user: id).with(["app_metadata": ["role": "operator"]]).text
        let form = ["Content-Type": "application/x-www-form-urlencoded"]
        let signedIn = try await here.send("POST", path, body: Array("token=\(token)".utf8), headers: form)
        #expect(signedIn.status == 303 && signedIn.headers["location"] == "/operator" && signedIn.headers["x-ratelimit-remaining"] != nil)
        // The form stands under the address of the view that was asked for, which opens after the sign-in.
        let costs = "/operator/costs?days=7&by=user"
        let week = "/operator?days=7"
        for (page, view) in [(costs, costs), (week, week), (path, "/operator"), ("/docs", "/operator"), ("/operators", "/operator")] {
            let headers = form.merging(["Referer": "http://127.0.0.1:\(testBed.gateway.port)\(page)"]) { $1 }
            let signedIn = try await here.send("POST", path, body: Array("token=\(token)".utf8), headers: headers)
            #expect(signedIn.status == 303 && signedIn.headers["location"] == view)
        }
        // After a wrong token it stands under the session's address, and keeps the view.
        let wrong = try await here.send(
            "POST", path, body: Array("token=x".utf8), headers: form.merging(["Referer": "http://127.0.0.1\(costs)"]) { $1 })
        #expect(wrong.status == 401 && wrong.text.contains(#"name="view" value="/operator/costs?days=7&amp;by=user""#), "\(wrong.text)")
        for (field, view) in [("%2Foperator%2Fcosts%3Fdays%3D7%26by%3Duser", costs), ("https%3A%2F%2Fcoach.example%2F", "/operator")] {
            let headers = form.merging(["Referer": "http://127.0.0.1\(path)"]) { $1 }
            let signedIn = try await here.send("POST", path, body: Array("token=\(token)&view=\(field)".utf8), headers: headers)
            #expect(signedIn.status == 303 && signedIn.headers["location"] == view)
        }
        let user = try await here.send("POST", path, body: Array("token=\(Token(user: id).text)".utf8), headers: form)
        #expect(user.status == 403 && user.headers["x-ratelimit-remaining"] != nil && user.text.contains("Access token"))
        let header = try #require(signedIn.headers["set-cookie"])
        #expect(header.contains("HttpOnly") && header.contains("SameSite=Strict") && !header.contains("Secure"))
        let cookie = ["Cookie": String(header.prefix { $0 != ";" })]
        #expect(try await there.send("GET", "/api/v1/operator/audit", headers: cookie).status == 200)
        let session = try await there.send("GET", path, headers: cookie)
        #expect(session.data["expires_at"] != nil && session.headers["x-ratelimit-remaining"] != nil)
        let refused = try await there.send("POST", path, headers: ["Authorization": "Bearer \(Token(user: id).text)"])
        #expect(refused.status == 403 && refused.headers["x-ratelimit-remaining"] != nil)
        #expect(try await there.send("GET", "/api/v1/me", headers: cookie).status == 401)
        let page = try await there.send("GET", "/operator/costs", headers: cookie)
        #expect(page.text.contains("Sign out") && page.headers["x-ratelimit-remaining"] != nil)
        #expect(try await there.send("GET", "/operator/costs").text.contains("Access token"))

        let origin = ["Origin": "http://127.0.0.1:\(other.port)"].merging(cookie) { $1 }
        for wrong in [cookie, origin.merging(["Origin": "http://127.0.0.1:1"]) { $1 }] {
            #expect(try await there.send("DELETE", path, headers: wrong).errorCode == "AUTH_1003")
        }
        let admin = TestUser(gateway: testBed.gateway, role: "operator")
        #expect(try await admin.send("POST", "/api/v1/operator/users/\(id)/suspend", ["reason": "left"]).status == 200)
        #expect(try await there.send("GET", "/api/v1/operator/audit", headers: cookie).errorCode == "AUTH_1003")
        #expect(try await there.send("GET", "/operator", headers: cookie).text.contains("Access token"))
        #expect(try await admin.send("POST", "/api/v1/operator/users/\(id)/unsuspend").status == 200)
        #expect(try await here.send("GET", "/api/v1/operator/audit", headers: cookie).errorCode == "AUTH_1002")
        let again = try await here.send("POST", path, body: Array("token=\(token)".utf8), headers: form)
        let second = ["Cookie": String(try #require(again.headers["set-cookie"]).prefix { $0 != ";" })]
        let signedOut = try await there.send("DELETE", path, headers: origin.merging(second) { $1 })
        #expect(signedOut.status == 204 && signedOut.headers["x-ratelimit-remaining"] != nil)
        #expect(try await here.send("GET", "/api/v1/operator/audit", headers: second).errorCode == "AUTH_1002")
    }

    @Test("pages let scripts and styles of the gateway alone run")
    func policy() async throws {
        let browser = Browser(port: try await TestBed.shared().gateway.port)
        let page = try await browser.send("GET", "/operator")
        let policy = try #require(page.headers["content-security-policy"])
        #expect(policy.contains("default-src 'none'") && policy.contains("script-src 'self'") && policy.contains("frame-ancestors 'none'"))
        #expect(!policy.contains("unsafe") && !policy.contains("http") && page.headers["x-content-type-options"] == "nosniff")
        let script = try #require(page.text.firstMatch(of: /src="([^"]+)"/))
        let asset = try await browser.send("GET", String(script.1))
        #expect(asset.headers["content-type"] == "text/javascript; charset=utf-8")
        #expect(asset.headers["cache-control"]?.contains("immutable") == true)
        #expect(try await browser.send("GET", "/operator/assets/older/app.js").headers["cache-control"] == "no-cache")
        #expect(try await browser.send("GET", "/operator/assets/older/none.js").status == 404)
    }

    private static let charts = "/usr/share/javascript/chart.js/chart.min.js"

    @Test(
        "the policy and the page name the hash of Debian's Chart.js, which is what is served",
        .enabled(if: FileManager.default.isReadableFile(atPath: charts), "libjs-chart.js is not installed"))
    func chartHash() async throws {
        let browser = Browser(port: try await TestBed.shared().gateway.port)
        let signedIn = try await browser.send(
            "POST", "/operator/session", body: [], headers: ["Authorization": "Bearer \(PageScript.operatorToken())"])
        let cookie = String(try #require(signedIn.headers["set-cookie"]).prefix { $0 != ";" })
        let page = try await browser.send("GET", "/operator", headers: ["Cookie": cookie])
        let file = [UInt8](try #require(FileManager.default.contents(atPath: Self.charts)))
        let hash = "sha256-" + Data(SHA256.hash(file)).base64EncodedString()
        #expect(page.headers["content-security-policy"]?.contains("script-src 'self' '\(hash)';") == true, "\(page.headers)")
        let script = try #require(page.text.firstMatch(of: /<script src="([^"]+)" integrity="([^"]+)"/), "\(page.text)")
        #expect(script.2 == hash)
        #expect(try await browser.send("GET", String(script.1)).body == file)
    }
}
