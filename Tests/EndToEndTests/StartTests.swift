import Foundation
import TestSupport
import Testing

@Suite("Start", .paced)
struct StartTests {
    @Test("a turn that is sent as soon as connections are accepted begins")
    func firstRequest() async throws {
        let testBed = try await TestBed.shared()
        for _ in 1...3 {
            let gateway = try await Gateway(
                database: testBed.database.gatewayURL, simulator: testBed.simulator.url, environment: try StateFolder().state(),
                untilReady: false)
            expectDone(try await gateway.testUser().chat("Hello \(sim(["words": 2]))"))
            gateway.program.signal(SIGTERM)
            #expect(try await gateway.program.exit(within: 10) == 0)
        }
    }
}
