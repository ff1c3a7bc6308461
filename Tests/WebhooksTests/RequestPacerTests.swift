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

    @Test("a burst need not wait, what comes after it is spaced, and what would wait too long is refused and takes no turn")
    func burst() async throws {
        let pacer = RequestPacer(interval: .milliseconds(100), burst: 5)
        let start = ContinuousClock.now
        for number in 0..<5 { #expect(try await pacer.wait(atMost: .zero), "\(number)") }
        // So late that a turn is due would make the expectations below meaningless.
        try #require(ContinuousClock.now - start < .milliseconds(50), "this machine stood still")
        #expect(try await !pacer.wait(atMost: .milliseconds(20)))
        #expect(try await pacer.wait(atMost: .milliseconds(150)))
        #expect(ContinuousClock.now - start >= .milliseconds(100))
        #expect(try await pacer.wait(atMost: .milliseconds(150)))
        #expect(ContinuousClock.now - start >= .milliseconds(200))
    }
}
