import CoachCore
import ProviderSimulator
import TestSupport
import Testing

@testable import ModelProviders

@Suite("Cancellation in each dialect")
struct DialectCancellationTests {
    @Test("reaches the provider within 100 ms, also before the first token", arguments: Dialect.all, [false, true])
    func cancel(_ dialect: Dialect, afterText: Bool) async throws {
        let script = Script.quick {
            $0.words = 10_000
            $0.paceMs = 5
            $0.firstTokenMs = afterText ? 0 : 60_000
        }
        try await CallBench.run(script, dialect: dialect) { bench in
            let (recorder, generation) = bench.start()
            try await eventually { bench.providers[0].requests().first?.status == 200 && (!afterText || !recorder.now.bytes.isEmpty) }
            let start = ContinuousClock.now
            generation.cancel()
            try await eventually { bench.providers[0].stats.clientClosed == 1 }
            #expect(start.duration(to: .now) < .milliseconds(100))
            #expect(try await recorder.ended().ends == [.cancelled])
        }
    }
}
