import Foundation
import TestSupport
import Testing

/// CONTRACT §5. These tests run alone, because they measure seconds.
@Suite("How soon edits apply and figures follow", .paced, .serialized)
struct PromptnessTests {
    /// A time stamp of an answer or of the log.
    private func time(_ text: String?) throws -> Date {
        try Date(try #require(text), strategy: .iso8601.year().month().day().time(includingFractionalSeconds: true))
    }

    @Test("every instance applies an edit of any document within 2 s of its time")
    func edits() async throws {
        let database = try await Database.ofItsOwn()
        let simulator = try await TestBed.shared().simulator.url
        let gateways = [
            try await Gateway(database: database.gatewayURL, simulator: simulator),
            try await Gateway(database: database.gatewayURL, simulator: simulator),
        ]
        let editor = TestUser(gateway: gateways[0], role: "operator")
        let documents = [
            "alert-rules": "alert-rules/default", "limits": "limits/default", "prices": "prices/default",
            "domain-configs/fitness": "domain/fitness",
        ]
        for version in 2...3 {
            // All at once: each is waited for on both.
            var edits: [(name: String, created: Date)] = []
            for (path, name) in documents.sorted(by: { $0.key < $1.key }) {
                let path = "/api/v1/operator/\(path)"
                let json = try JSONSerialization.jsonObject(with: Data(try await editor.send("GET", path).body)) as? [String: Any]
                let body = try #require((json?["data"] as? [String: Any])?["body"])
                let saved = try await editor.send("PUT", path, ["body": body, "reason": "a test"], headers: ["If-Match": "*"])
                #expect(saved.status == 200 && saved.data.number("version") == version, "\(saved.text)")
                edits.append((name, try time(saved.data["created_at"])))
            }
            for (name, created) in edits {
                for gateway in gateways {
                    func applied() -> JSONObject? {
                        gateway.log.first {
                            $0["message"] == "document applied" && $0["document"] == name && $0.number("version") == version
                        }
                    }
                    try await eventually("\(name) version \(version) to be applied") { applied() != nil }
                    let delay = try time(applied()?["time"]).timeIntervalSince(created)
                    #expect(delay <= 2, "\(name) version \(version)")
                }
            }
        }
    }

    @Test("a turn is in the figures within 5 s of its booking, and they say so")
    func figures() async throws {
        let database = try await Database.ofItsOwn()
        let gateway = try await Gateway(database: database.gatewayURL, simulator: try await TestBed.shared().simulator.url)
        let editor = TestUser(gateway: gateway, role: "operator")
        for turns in 1...3 {
            expectDone(try await gateway.testUser().chat("Hello \(sim(["words": 2]))"))
            // Asked of the database, because a user's requests are limited.
            var delay = Double.infinity
            try await eventually("turn \(turns) in the figures") {
                let state = try await database.row(
                    """
                    select (select sum(d.turns) from gateway.usage_days d) = \(turns) and s.as_of >= l.booked_at as is_there,
                        extract(epoch from clock_timestamp() - l.booked_at)::double precision as delay
                    from gateway.rollup_state s cross join (select max(u.booked_at) as booked_at from usage_logs u) l
                    """)
                delay = state.real("delay") ?? .infinity
                return state.flag("is_there") == true
            }
            #expect(delay <= 5, "turn \(turns)")
            let answer = try await editor.browser.send("GET", "/api/v1/operator/costs")
            #expect(answer.json.objects("data").first?.number("turns") == turns, "\(answer.text)")
            let lag = Date().timeIntervalSince(try time(answer.json.object("meta")["as_of"]))
            #expect(lag <= 5, "\(answer.text)")
        }
    }
}
