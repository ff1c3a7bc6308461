import Foundation
import Testing

@Suite("Behind HAProxy with the file that is shipped", .paced, .enabled(if: Proxy.Kind.haproxy.program != nil, "HAProxy is not installed"))
struct ProxyTests {
    @Test("every token is forwarded at once, and a lost connection can be resumed, also on the other instance")
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
}
