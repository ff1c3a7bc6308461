import Testing

@testable import Webhooks

@Suite struct RequestPacerTests {
    @Test("requests are spaced, and none is sent during a pause that the server asked for")
    func pace() async throws {
        let pacer = RequestPacer(interval: .milliseconds(20))
        let start = ContinuousClock.now
        for _ in 0..<4 { try await pacer.wait() }
        #expect(ContinuousClock.now - start >= .milliseconds(60))
        await pacer.hold(for: .milliseconds(100))
        let held = ContinuousClock.now
        try await pacer.wait()
        #expect(ContinuousClock.now - held >= .milliseconds(100))
    }
}
