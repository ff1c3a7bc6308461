import Foundation
import TestSupport
import Testing

@Suite("Operators and subscriptions", .paced)
struct SubscriptionAdministrationTests {
    private func post(_ user: TestUser, _ path: String, _ body: String) async throws -> Answer {
        try await user.browser.send("POST", "/api/v1/operator/users/\(path)", body: Array(body.utf8))
    }

    @Test("a grant gives a subscription and a revocation ends it; both are logged, and require the role operator")
    func grant() async throws {
        let testBed = try await TestBed.shared()
        let (editor, user) = (TestUser(gateway: testBed.gateway, role: "operator"), testBed.testUser())
        // The user exists from the first turn on.
        #expect(try await post(editor, "\(user.id)/grant", #"{"entitlement":"pro"}"#).status == 404)
        expectDone(try await user.chat("Hello"))
        let refused = try await post(user, "\(user.id)/grant", #"{"entitlement":"pro"}"#)
        #expect(refused.status == 403 && refused.errorCode == "AUTH_1003")
        for body in [
            "{}", #"{"entitlement":""}"#, #"{"entitlement":"pro","until":"2020-01-01T00:00:00Z"}"#, #"{"entitlement":1}"#, "[]",
            #"{"entitlement":"pro","expires_at":"2020-01-01T00:00:00Z"}"#,
        ] {
            #expect(try await post(editor, "\(user.id)/grant", body).errorCode == "VAL_3001", "\(body)")
        }
        // No time stamp, which is one finding: whether it is in the future is not known.
        let vague = try await post(editor, "\(user.id)/grant", #"{"entitlement":"pro","until":"2099-01-01"}"#)
        #expect(vague.error.object("details").objects("findings").map { $0["field"] } == ["until"], "\(vague.text)")
        let granted = try await post(editor, "\(user.id)/grant", #"{"entitlement":"pro","until":"2099-01-01T00:00:00Z","reason":"a gift"}"#)
        #expect(granted.status == 200 && granted.json.object("data").flag("active") == true, "\(granted.text)")
        func subscription() async throws -> JSONObject {
            try await user.browser.send("GET", "/api/v1/me/subscription").json.object("data")
        }
        let gift = try await subscription()
        #expect(gift["store"] == "manual" && gift["expires_at"] == "2099-01-01T00:00:00.000Z")
        #expect(try await post(editor, "\(user.id)/revoke", "").status == 200)
        #expect(try await subscription()["status"] == "revoked")
        // The end may have its name in answers, too.
        let renewed = try await post(editor, "\(user.id)/grant", #"{"entitlement":"pro","expires_at":"2098-01-01T00:00:00Z"}"#)
        #expect(renewed.json.object("data")["expires_at"] == "2098-01-01T00:00:00.000Z", "\(renewed.text)")
        let log = try await editor.browser.send("GET", "/api/v1/operator/audit?limit=100").text
        #expect(log.contains("subscription.grant") && log.contains("subscription.revoke") && log.contains("a gift"))
        #expect(try await post(editor, "nobody/grant", #"{"entitlement":"pro"}"#).status == 404)
    }

    @Test("figures by day as JSON and CSV; an invalid range is an error with its parameter")
    func figures() async throws {
        let database = try await Database.ofItsOwn()
        let gateway = try await Gateway(database: database.gatewayURL, simulator: try await TestBed.shared().simulator.url)
        let editor = TestUser(gateway: gateway, role: "operator")
        let path = "/api/v1/operator/subscriptions"
        let month = try await editor.browser.send("GET", path)
        #expect(month.status == 200 && month.json.objects("data").count == 31, "\(month.text)")
        let day = try await editor.browser.send("GET", path + "?from=2026-01-05&to=2026-01-05T23:00:00Z").json.objects("data")
        #expect(day.count == 1 && day[0]["day"] == "2026-01-05T00:00:00.000Z" && day[0].number("active") == 0)
        #expect(day[0]["revenue_usd"] == "0.000000" && day[0].isNull("mrr_usd"))
        let csv = try await editor.browser.send("GET", path + "?from=2026-01-05&to=2026-01-06", headers: ["Accept": "text/csv"])
        #expect(csv.text.hasPrefix("day,active,trials,") && csv.text.split(separator: "\r\n").count == 3, "\(csv.text)")
        // 24 hours of India, of which the first begins within an hour of UTC.
        let hours = path + "?from=2026-01-04T18:30:00Z&to=2026-01-05T18:30:00Z&grain=hour&tz=Asia/Kolkata&compare=previous"
        let rows = try await editor.browser.send("GET", hours).json.objects("data")
        #expect(rows.count == 24 && rows[0]["day"] == "2026-01-04T18:30:00.000Z" && rows[0].number("previous_trials") == 0, "\(rows)")
        let lines = try await editor.browser.send("GET", hours, headers: ["Accept": "application/x-ndjson"]).text.split(separator: "\n")
        #expect(lines.map { JSONObject(String($0))["day"] } == rows.map { $0["day"] })
        let weeks = try await editor.browser.send(
            "GET", path + "?from=2026-01-05&to=2026-01-17&grain=week&tz=Europe/Berlin", headers: ["Accept": "text/csv"])
        #expect(weeks.text.split(separator: "\r\n").dropFirst().map { $0.prefix(20) } == ["2026-01-04T23:00:00.", "2026-01-11T23:00:00."])
        for (query, field) in [
            ("from=x", "from"), ("to=2026-02-30", "to"), ("from=2020-01-01", "from"), ("from=2026-02-01&to=2026-01-01", "from"),
        ] {
            let answer = try await editor.browser.send("GET", "\(path)?\(query)")
            #expect(answer.status == 422 && answer.error.object("details")["field"] == field, "\(query): \(answer.text)")
        }
        #expect(try await gateway.testUser().browser.send("GET", path).status == 403)
    }
}
