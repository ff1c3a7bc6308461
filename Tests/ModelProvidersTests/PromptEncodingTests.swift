import ProviderSimulator
import RelayTestSupport
import TestSupport
import Testing

@testable import ModelProviders

@Suite("Encoding of prompts")
struct PromptEncodingTests {
    @Test("takes place before the relay's thread: no token there waits 5 ms for a prompt of a megabyte", .timeLimit(.minutes(2)))
    func besideTheRelay() async throws {
        try await CallBench.run(.quick { $0.words = 3 }) { bench in
            var message = String(repeating: "How do I \"begin\"?\n", count: 60_000)
            // Otherwise this test could not fail on a quick machine.
            let clock = ContinuousClock()
            while clock.measure({ _ = bench.router.encode(CallBench.prompt(message)) }) < .milliseconds(7) { message += message }
            _ = try await bench.ask()
            let (probe, stream) = (ThreadProbe(bench.reactor), try ProbeStream(bench.reactor))
            try await eventually { stream.tokens > 10 }
            stream.reset()
            for _ in 0..<5 { #expect(try await bench.ask(message).ends == [.stop]) }
            #expect(probe.rounds > 5)
            #expect(probe.longest < .milliseconds(5), "\(probe.longest)")
            #expect(stream.tokens > 5)
            #expect(stream.longest < .milliseconds(5), "\(stream.longest)")
        }
    }
}
