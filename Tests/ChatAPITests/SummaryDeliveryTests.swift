import CoachCore
import Synchronization
import TestSupport
import Testing

@testable import ChatAPI

@Suite("Saving the receipt of a summary")
struct SummaryDeliveryTests {
    /// A database that fails so often, and then takes receipts.
    private final class Store: Sendable {
        let state: Mutex<(failures: [any Error], attempts: Int)>

        init(_ failures: [any Error]) { state = Mutex((failures, 0)) }

        var attempts: Int { state.withLock { $0.attempts } }

        func becomeReachable() { state.withLock { $0.failures = [] } }

        var delivery: SummaryDelivery {
            SummaryDelivery(pauses: [.milliseconds(1)]) { [self] _, _ in
                let failure = state.withLock { state in
                    state.attempts += 1
                    return state.failures.popLast()
                }
                if let failure { throw failure }
                return true
            }
        }
    }

    private static let away = StoreFault.unavailable(retryAfter: 1)

    private static var receipt: SummaryReceipt {
        SummaryReceipt(
            request: SummaryRequest(conversationID: .random(), turnID: .random(), attempt: 1, tokens: 100),
            task: SummaryTask(
                day: CalendarDay(unixSeconds: 0), call: 1_000, from: 0, through: 2, summary: nil, messages: [], tier: "free", domain: nil,
                personaID: nil),
            summary: "They want to run.", calls: [])
    }

    @Test("is repeated while the database is away, so that the call is not made again without a bill")
    func away() async throws {
        let store = Store(Array(repeating: Self.away, count: 20))
        #expect(try await store.delivery.finish(.random(), Self.receipt))
        #expect(store.attempts == 21)
    }

    @Test("is given up when the database rejects it time after time")
    func rejected() async {
        let store = Store(Array(repeating: StoreFault.unexpected("no such column"), count: 20) + [Self.away])
        await #expect(throws: StoreFault.unexpected("no such column")) { _ = try await store.delivery.finish(.random(), Self.receipt) }
        #expect(store.attempts == 6)
    }

    @Test("is tried once more by a job that is cancelled, also when it was cancelled before")
    func cancelled() async throws {
        let store = Store(Array(repeating: Self.away, count: 1_000_000))
        let waiting = Task { try await store.delivery.finish(.random(), Self.receipt) }
        try await eventually { store.attempts > 2 }
        waiting.cancel()
        await #expect(throws: Self.away) { _ = try await waiting.value }
        store.becomeReachable()
        let late = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await store.delivery.finish(.random(), Self.receipt)
        }
        #expect(try await late.value)
    }
}
