import Foundation
import Testing

@Suite("Behind a proxy with the file that is shipped", .paced)
struct ProxyTests {
    @Test("every token is forwarded at once, and a lost connection can be resumed, also on the other instance", .haproxy)
    func streams() async throws {
        let pair = try await Pair.shared()
        let proxy = try await Proxy(.haproxy, before: pair)
        let testUser = pair.one.testUser().at(proxy.port)
        let first = try await testUser.openStream("Hello \(sim(["words": 60, "pace_ms": 50]))").until(bytes: 80)
        // Not in bursts: the tokens arrive over about the time in which the model sends them, less what a busy machine merges.
        let span = try #require(first.arrivals.first).at.duration(to: try #require(first.arrivals.last).at)
        #expect(first.arrivals.count >= 5 && span > .milliseconds(300), "\(first.arrivals.count) pieces in \(span)")
        first.hangUp()
        var served: Set<String> = []
        var rests: [StreamReader] = []
        for _ in 0..<2 {
            let rest = try await testUser.follow(first.turnID, after: first.position)
            served.insert(rest.headers["x-served-by"] ?? "")
            rests.append(rest)
        }
        for rest in rests { try await rest.toEnd() }
        #expect(served == ["a", "b"])
        for rest in rests { #expect(rest.end?["finish_reason"] == "stop" && (first.text + rest.text).split(separator: " ").count == 60) }
        try await proxy.end()
    }

    @Test("requests without a token are limited by the client's address, which the client cannot choose", .haproxy)
    func addresses() async throws {
        let root = try Folder.copyOfRoot()
        try root.edit("deploy/tiers.json") { $0["unauthenticated_requests_per_minute"] = 3 }
        let pair = try await Pair.another([
            "COACH_ENV": "production", "COACH_TRUSTED_PROXIES": "127.0.0.0/8", "COACH_ROOT": root.path,
        ])
        let proxy = try await Proxy(.haproxy, before: pair)
        var statuses: [Int] = []
        for number in 1...8 {
            let headers = ["Forwarded": "for=198.51.100.\(number)"]
            statuses.append(try await Browser(port: proxy.port).send("GET", "/p/unknown", headers: headers).status)
        }
        // Each of the two instances counts for itself.
        #expect(statuses == Array(repeating: 404, count: 6) + [429, 429])
        try await proxy.end()
    }

    @Test(
        "what the gateway accepts passes, and what is too large gets its envelope",
        arguments: Proxy.Kind.allCases.filter { $0.program != nil })
    func limits(kind: Proxy.Kind) async throws {
        let pair = try await Pair.shared()
        let proxy = try await Proxy(kind, before: pair)
        let browser = pair.one.testUser().at(proxy.port).browser
        func long(_ count: Int) -> [String: String] { ["X-Long": String(repeating: "a", count: count)] }
        func many(_ count: Int) -> [String: String] { Dictionary(uniqueKeysWithValues: (1...count).map { ("X-Field-\($0)", "a") }) }
        for (headers, status) in [(long(30_000), 200), (many(180), 200), (long(33_000), 431), (many(220), 431)] {
            let answer = try await browser.send("GET", "/api/v1/conversations", headers: headers)
            #expect(answer.status == status && answer.errorCode == (status == 200 ? nil : "VAL_3005"), "\(headers.count): \(answer.text)")
        }
        let body = Array(repeating: UInt8(ascii: "a"), count: 600_000)
        let answer = try await browser.send("POST", "/api/v1/conversations", body: body)
        #expect(answer.status == 413 && answer.errorCode == "VAL_3005", "\(answer.text)")
        try await proxy.end()
    }

    @Test("the pages of development are not shown, because the request may come from another machine", .haproxy)
    func development() async throws {
        let pair = try await Pair.shared()
        let proxy = try await Proxy(.haproxy, before: pair)
        #expect(try await Browser(port: pair.one.port).send("GET", "/try").status == 200)
        #expect(try await Browser(port: proxy.port).send("GET", "/try").status == 404)
        try await proxy.end()
    }
}

extension Trait where Self == ConditionTrait {
    fileprivate static var haproxy: Self { .enabled(if: Proxy.Kind.haproxy.program != nil, "HAProxy is not installed") }
}
