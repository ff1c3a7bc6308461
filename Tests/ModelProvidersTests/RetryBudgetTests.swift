import CoachCore
import ProviderSimulator
import Testing

@testable import ModelProviders

@Suite("The budget of repetitions")
struct RetryBudgetTests {
    private static let limits = CallLimits(
        connect: .seconds(30), firstToken: .seconds(30), firstTokenOverall: .seconds(60), refusal: .seconds(60),
        retryPause: .milliseconds(1))
    private static let calls = 60
    /// Repetitions that the calls may have together.
    private static let repetitions = RetryBudget.reserve + calls / RetryBudget.callsPerRetry

    @Test("repetitions are a share of the calls")
    func share() {
        var budget = RetryBudget()
        for _ in 0..<RetryBudget.reserve { #expect(budget.takes() == true) }
        #expect(budget.takes() == false)
        for _ in 0..<RetryBudget.callsPerRetry { budget.called() }
        #expect(budget.takes() == true)
        #expect(budget.takes() == false)
    }

    @Test("a lone provider that always refuses gets a fifth more requests than there are calls, beside the first ones")
    func lone() async throws {
        try await CallBench.run(.refusing(503), limits: Self.limits) { bench in
            for _ in 0..<Self.calls {
                let record = try await bench.ask()
                #expect(record.fault?.kind == .refused)
            }
            let requests = bench.providers[0].stats.started
            #expect(requests > Self.calls && requests <= Self.calls + Self.repetitions, "\(requests)")
        }
    }

    @Test("three providers that are down get no more together, once their circuits are open; each call makes at least one request")
    func allDown() async throws {
        try await CallBench.run(.refusing(503), .refusing(503), .refusing(503), limits: Self.limits) { bench in
            func requests() -> Int { bench.providers.map(\.stats.started).reduce(0, +) }
            for _ in 0..<Self.calls {
                let before = requests()
                let record = try await bench.ask()
                #expect(record.fault?.kind == .refused && requests() > before)
            }
            // Of each call, until the circuits of the second and the third are open.
            let untilOpen = 2 * CircuitBreaker.failuresToOpen
            #expect(requests() > Self.calls + untilOpen && requests() <= Self.calls + untilOpen + Self.repetitions, "\(requests())")
        }
    }
}
