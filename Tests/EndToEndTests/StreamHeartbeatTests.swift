import Foundation
import Testing

@Suite("A stream whose model is silent", .patient)
struct StreamHeartbeatTests {
    @Test("gets a ping within 10 s of silence")
    func pings() async throws {
        let script = sim(["tokens": ["One. ", "Two."], "stall_after_tokens": 1, "stall_ms": 12_000])
        let answer = try await TestBed.shared().testUser().chat("Hello \(script)", timeout: 40)
        #expect(answer.eventTypes == ["start", "token", "usage", "done"] && answer.content == "One. Two.")
        let (token, ping) = (try #require(answer.first("token")).arrivedAfter, try #require(answer.pings.first))
        #expect(answer.pings.count == 1 && ping - token > .seconds(5) && ping - token <= .seconds(10), "\(ping - token)")
    }
}
