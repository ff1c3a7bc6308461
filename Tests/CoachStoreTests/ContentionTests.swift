import Testing

@testable import CoachStore
@testable import PostgresClient

@Suite struct ContentionTests {
    @Test("a pause grows, has jitter of up to half, and is never longer than the lock timeout")
    func pauses() {
        #expect(
            (1...7).map { ContentionBackoff.pause(afterAttempt: $0) } == [5...10, 10...20, 20...40, 40...80, 50...100, 50...100, 50...100])
    }

    @Test("contention is retried after a pause, and the last error is thrown")
    func repeats() async throws {
        let lockTimeout = PostgresError(.server, "lock timeout", sqlState: "55P03")
        var (attempts, pauses) = (0, 0)
        let answer = try await repeatingContended(pause: { _ in pauses += 1 }) {
            attempts += 1
            if attempts < 3 { throw lockTimeout }
            return "done"
        }
        #expect(answer == "done" && attempts == 3 && pauses == 2)
        await #expect(throws: PostgresError.self) {
            try await repeatingContended(attempts: 4, pause: { _ in pauses += 1 }) { throw lockTimeout }
        }
        #expect(pauses == 5)
    }

    @Test("other errors are thrown at once")
    func others() async {
        await #expect(throws: PostgresError.self) {
            try await repeatingContended(pause: { _ in Issue.record("a pause") }) {
                throw PostgresError(.server, "duplicate", sqlState: "23505", constraint: "users_pkey")
            }
        }
    }
}
