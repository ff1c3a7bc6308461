import Testing

@testable import CoachClient

@Suite("Pauses between attempts")
struct RetryPolicyTests {
    private let policy = RetryPolicy(attempts: 9)

    private func pause(_ failures: Int, retryAfter: Duration? = nil, jitter: Double = 0) -> Duration? {
        policy.pause(afterFailures: failures, retryAfter: retryAfter, jitter: jitter)
    }

    @Test("pauses double from 1 s to 10 s and restart after a connection with progress")
    func doubling() {
        #expect([0, 1, 2, 3, 4, 5, 8].map { pause($0) } == [1, 1, 2, 4, 8, 10, 10].map { .seconds($0) })
    }

    @Test("after the last attempt there is no pause")
    func attempts() {
        #expect(pause(9) == nil)
        #expect(RetryPolicy().pause(afterFailures: 2, retryAfter: nil, jitter: 0) == .seconds(2))
        #expect(RetryPolicy().pause(afterFailures: 3, retryAfter: nil, jitter: 0) == nil)
        #expect(RetryPolicy(attempts: .max).pause(afterFailures: 1_000_000, retryAfter: nil, jitter: 0) == .seconds(10))
    }

    @Test("jitter shortens the backoff by up to a half and lengthens Retry-After by up to a tenth")
    func jitter() {
        #expect(pause(1, jitter: 0.5) == .milliseconds(750))
        #expect(pause(1, retryAfter: .seconds(20), jitter: 0.5) == .seconds(21))
    }

    @Test("Retry-After is waited for up to 60 s; a longer one is reported to the app")
    func retryAfter() {
        #expect(pause(1, retryAfter: .seconds(60)) == .seconds(60))
        #expect(pause(1, retryAfter: .seconds(61)) == nil)
        #expect(pause(4, retryAfter: .zero) == .seconds(8))
    }
}
