import Foundation
import TestSupport
import Testing

@Suite("Events for operators", .paced)
struct EventTests {
    private static let path = "/api/v1/operator/events"
    private static let accept = ["Accept": "text/event-stream"]

    private func token(_ user: String) -> String { Token(user: user).with(["app_metadata": ["role": "operator"]]).text }

    private func stream(_ user: TestUser, _ gateway: Gateway, until seconds: Int) throws -> Program {
        try stream(gateway, "Authorization: Bearer \(token(user.id))", until: seconds)
    }

    private func stream(_ gateway: Gateway, _ header: String, until seconds: Int) throws -> Program {
        try Program(
            [
                "-sN", "--max-time", "\(seconds)", "-H", "Accept: text/event-stream", "-H", header,
                "http://127.0.0.1:\(gateway.port)\(Self.path)",
            ], executable: URL(fileURLWithPath: "/usr/bin/curl"))
    }

    @Test("come when figures are newer and when an alert begins, and end when the reader is suspended")
    func events() async throws {
        let database = try await Database.ofItsOwn()
        let gateway = try await Gateway(database: database.gatewayURL, simulator: try await TestBed.shared().simulator.url)
        let (editor, other) = (TestUser(gateway: gateway, role: "operator"), TestUser(gateway: gateway, role: "operator"))
        let state = try await editor.browser.send("GET", Self.path, headers: ["Accept": "application/json"])
        #expect(state.status == 200 && state.json.object("data").isNull("alerts_changed_at"), "\(state.text)")
        #expect(try await gateway.testUser().browser.send("GET", Self.path, headers: Self.accept).status == 403)
        #expect(try await Browser(port: gateway.port).send("GET", Self.path, headers: Self.accept).status == 401)

        let reading = try stream(editor, gateway, until: 120)
        func states() -> [JSONObject] {
            reading.output.split(separator: "\n").filter { $0.hasPrefix("data: ") }.map { JSONObject(String($0.dropFirst(6))) }
        }
        try await eventually(within: .seconds(60), "three states of the figures") { Set(states().compactMap { $0["as_of"] }).count >= 3 }
        #expect(reading.output.hasPrefix("retry: ") && states().allSatisfy { $0.isNull("alerts_changed_at") })
        let rules: [String: Any] = ["rules": [["id": "any-cost", "measure": "cost_usd", "above": 0]]]
        _ = try await other.send("PUT", "/api/v1/operator/alert-rules", ["body": rules], headers: ["If-Match": "*"])
        expectDone(try await gateway.testUser().chat("Hello \(sim(["words": 3]))"))
        try await eventually(within: .seconds(60), "an alert") { states().last?["alerts_changed_at"] != nil }
        let suspended = try await other.send("POST", "/api/v1/operator/users/\(editor.id)/suspend", ["reason": "test"])
        #expect(suspended.status < 300, "\(suspended.text)")
        #expect(try await reading.exit() == 0, "the stream ended by itself")
    }

    @Test("are for a browser's session, and end with a sign-out")
    func session() async throws {
        let (gateway, path) = (try await TestBed.shared().gateway, "/operator/session")
        let browser = Browser(port: gateway.port)
        let signedIn = try await browser.send(
            "POST", path, body: [], headers: ["Authorization": "Bearer \(token(UUID().uuidString.lowercased()))"])
        let cookie = try #require(signedIn.headers["set-cookie"]).prefix { $0 != ";" }
        let reading = try stream(gateway, "Cookie: \(cookie)", until: 120)
        try await eventually("the first event") { reading.output.contains("data: ") }
        let origin = "http://127.0.0.1:\(gateway.port)"
        #expect(try await browser.send("DELETE", path, headers: ["Cookie": String(cookie), "Origin": origin]).status == 204)
        #expect(try await reading.exit() == 0, "the stream ended by itself")
    }

    @Test("a suspension ends the operator's sessions for good")
    func suspension() async throws {
        let (gateway, path) = (try await TestBed.shared().gateway, "/operator/session")
        let (editor, other) = (TestUser(gateway: gateway, role: "operator"), TestUser(gateway: gateway, role: "operator"))
        let signedIn = try await Browser(port: gateway.port).send(
            "POST", path, body: [], headers: ["Authorization": "Bearer \(token(editor.id))"])
        let cookie = ["Cookie": String(try #require(signedIn.headers["set-cookie"]).prefix { $0 != ";" })]
        #expect(try await Browser(port: gateway.port).send("GET", path, headers: cookie).status == 200)
        for verb in ["suspend", "unsuspend"] {
            let changed = try await other.send("POST", "/api/v1/operator/users/\(editor.id)/\(verb)", ["reason": "test"])
            #expect(changed.status < 300, "\(changed.text)")
        }
        #expect(try await Browser(port: gateway.port).send("GET", path, headers: cookie).status == 401)
    }

    @Test("have a bound of streams for an instance, and end when the instance shuts down")
    func bound() async throws {
        let gateway = try await TestBed.shared().anotherGateway([:])
        let editors = (0..<8).map { _ in TestUser(gateway: gateway, role: "operator") }
        let readings = try (0..<64).map { try stream(editors[$0 % 8], gateway, until: 60) }
        try await eventually(within: .seconds(60), "all streams") { readings.allSatisfy { $0.output.contains("data: ") } }
        let refused = try await TestUser(gateway: gateway, role: "operator").browser.send("GET", Self.path, headers: Self.accept)
        #expect(refused.status == 429, "\(refused.text)")
        gateway.program.signal(SIGTERM)
        for reading in readings { #expect(try await reading.exit() == 0) }
    }
}
