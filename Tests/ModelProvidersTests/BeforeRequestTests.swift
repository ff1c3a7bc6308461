import CoachCore
import ProviderSimulator
import Synchronization
import TestSupport
import Testing

@testable import ModelProviders

@Suite("What is told before a request leaves")
struct BeforeRequestTests {
    /// Keeps the requests that were announced.
    private final class Gate: Sendable {
        private let waiting = Mutex<[@Sendable (Bool) -> Void]>([])

        var count: Int { waiting.withLock(\.count) }

        var beforeRequest: LanguageModel.BeforeRequest {
            { [self] proceed in waiting.withLock { $0.append(proceed) } }
        }

        /// Answers all that were announced, also those that were answered before.
        func open(_ mayLeave: Bool = true) {
            for proceed in waiting.withLock({ $0 }) { proceed(mayLeave) }
        }
    }

    @Test("is told of each but the first, which waits until it may go on; a repeated answer changes nothing")
    func failover() async throws {
        try await CallBench.run(.refusing(503), .refusing(503), .quick { $0.text = "here" }) { bench in
            let gate = Gate()
            let (recorder, _) = bench.start(beforeRequest: gate.beforeRequest)
            try await eventually { gate.count == 1 }
            #expect(bench.providers[0].requests().count == 1 && bench.providers[1].requests().isEmpty)
            gate.open()
            try await eventually { gate.count == 2 }
            #expect(bench.providers[1].requests().count == 1 && bench.providers[2].requests().isEmpty)
            gate.open()
            #expect(try await recorder.ended().text == "here")
            gate.open()
            #expect(bench.providers.map { $0.requests().count } == [1, 1, 1])
        }
    }

    @Test("a request that may not leave is told as none, and the call fails: no other choice is announced")
    func notLeaving() async throws {
        try await CallBench.run(.refusing(503), .quick(), .quick()) { bench in
            let gate = Gate()
            let (recorder, _) = bench.start(beforeRequest: gate.beforeRequest)
            try await eventually { gate.count == 1 }
            gate.open(false)
            let record = try await recorder.ended()
            #expect(record.fault?.kind == .refused && record.fault?.detail.contains("two: the call could not be recorded") == true)
            #expect(bench.providers.map { $0.requests().count } == [1, 0, 0] && record.unusedCalls.map(\.name.provider) == ["one"])
            #expect(gate.count == 1)
        }
    }

    @Test("a request that is cancelled while it waits never leaves, and is told as none")
    func cancelled() async throws {
        try await CallBench.run(.refusing(503), .quick()) { bench in
            let gate = Gate()
            let (recorder, generation) = bench.start(beforeRequest: gate.beforeRequest)
            try await eventually { gate.count == 1 }
            generation.cancel()
            let record = try await recorder.ended()
            gate.open()
            #expect(record.ends == [.cancelled] && record.unusedCalls.map(\.name.provider) == ["one"])
            #expect(bench.providers[1].stats.started == 0)
        }
    }

    @Test("the second call of a hedge waits, and the first is not delayed")
    func hedge() async throws {
        let slow = Script.quick { ($0.text, $0.firstTokenMs) = ("slow", 1_500) }
        try await CallBench.run(.quick { $0.text = "first" }, .quick { $0.text = "second" }, isHedged: true) { bench in
            for _ in 0..<LatencyHistory.enough { _ = try await bench.ask() }
            let gate = Gate()
            try bench.providers[0].enqueue(slow)
            let record = try await bench.start(beforeRequest: gate.beforeRequest).recorder.ended()
            #expect(record.text == "slow" && gate.count == 1 && record.unusedCalls.isEmpty)
            #expect(bench.providers[1].stats.started == 0)
            try bench.providers[0].enqueue(slow)
            let (recorder, _) = bench.start(beforeRequest: gate.beforeRequest)
            try await eventually { gate.count == 2 }
            gate.open()
            #expect(try await recorder.ended().text == "second")
        }
    }
}
