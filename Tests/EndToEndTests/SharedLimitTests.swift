import Foundation
import TestSupport
import Testing

@Suite("A user's limit over two gateways", .paced)
struct SharedLimitTests {
    @Test("of 1,000 concurrent requests exactly the limit of 100 pass")
    func exact() async throws {
        let root = try Folder.copyOfRoot()
        try root.edit("deploy/tiers.json") { $0["tiers"] = [["name": "free", "requests_per_minute": 100, "concurrent_turns": 5]] }
        let pair = try await Pair.another(["COACH_ROOT": root.path])
        let user = pair.one.testUser()
        let started = ContinuousClock.now
        let answers = try await withThrowingTaskGroup(of: [Answer].self) { group in
            // Fifty clients of each gateway, with ten requests each.
            for client in 0..<100 {
                let own = user.at(client % 2 == 0 ? pair.one.port : pair.other.port)
                group.addTask {
                    var answers: [Answer] = []
                    for _ in 0..<10 { answers.append(try await own.browser.send("GET", "/api/v1/me/subscription")) }
                    return answers
                }
            }
            return try await group.reduce(into: [Answer]()) { $0 += $1 }
        }
        // The limit is one of a minute, which begins with the first request.
        try #require(started.duration(to: .now) < .seconds(55), "the machine is too busy")
        #expect(answers.count == 1_000 && answers.count { $0.status == 200 } == 100)
        let refused = answers.filter { $0.status != 200 }
        #expect(refused.allSatisfy { $0.status == 429 && $0.errorCode == "BIZ_2010" }, "\(Set(refused.map(\.status)))")
    }
}
