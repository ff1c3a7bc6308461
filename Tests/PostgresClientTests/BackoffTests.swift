import Testing

@testable import PostgresClient

@Suite struct BackoffTests {
    @Test("the first retry is nearly immediate, then the pauses double up to their limit")
    func doubling() {
        var backoff = Backoff()
        let waits = (0..<100).map { _ in backoff.next(random: 0) }
        #expect(
            waits.prefix(7) == [
                .zero, .milliseconds(50), .milliseconds(100), .milliseconds(200), .milliseconds(400), .milliseconds(800),
                .milliseconds(800),
            ])
        #expect(waits.last == .milliseconds(800))
    }

    @Test("jitter shortens a pause by at most half")
    func jitter() {
        var backoff = Backoff()
        #expect(backoff.next(random: 1) == .milliseconds(5))
        #expect(backoff.next(random: 1) == .milliseconds(25))
        #expect(backoff.next(random: 0.5) == .milliseconds(75))
    }

    @Test("a reset starts the sequence again")
    func reset() {
        var backoff = Backoff()
        for _ in 0..<5 { _ = backoff.next(random: 0) }
        backoff.reset()
        #expect(backoff == Backoff())
    }
}
