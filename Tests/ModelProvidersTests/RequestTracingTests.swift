import CoachCore
import ProviderSimulator
import Synchronization
import TestSupport
import Testing

@testable import ModelProviders

@Suite("Traces of the requests of a call")
struct RequestTracingTests {
    /// Keeps what is recorded, in the order in which requests left.
    private final class Recorder: Sendable {
        struct Entry: Equatable {
            var model: ModelName
            var isHedge: Bool
            var results: [RequestResult] = []
        }

        private let entries = Mutex<[Entry]>([])

        var all: [Entry] { entries.withLock { $0 } }
        var hasEnded: Bool { all.allSatisfy { $0.results.count == 1 } }

        var tracing: RequestTracing {
            RequestTracing { [self] model, isHedge in
                let number = entries.withLock { entries in
                    entries.append(Entry(model: model, isHedge: isHedge))
                    return entries.count - 1
                }
                return RequestTrace(traceparent: "parent-\(number)") { [self] result in
                    entries.withLock { $0[number].results.append(result) }
                }
            }
        }
    }

    /// What is recorded of a call: `provider status end` of each request; without the status of a cancelled one, which may not have come yet.
    private func record(_ bench: CallBench, _ recorder: Recorder = Recorder()) async throws -> [String] {
        _ = try await bench.start(tracing: recorder.tracing).recorder.ended()
        try await eventually { recorder.hasEnded }
        return recorder.all.map { entry in
            let result = entry.results[0]
            let status = result.status.map { "\($0)" } ?? "-"
            let end =
                switch result.end {
                case .failed(let fault): "\(status) \(fault.kind.rawValue)"
                case .cancelled: "cancelled"
                default: "\(status) \(result.end)"
                }
            return "\(entry.model.provider) \(end)\(entry.isHedge ? " hedge" : "")"
        }
    }

    @Test("an answer is one request, with its usage and with headers of its own")
    func answer() async throws {
        try await CallBench.run(.quick()) { bench in
            let recorder = Recorder()
            let requests = try await record(bench, recorder)
            #expect(requests == ["one 200 stop"])
            #expect(recorder.all[0].results[0].usage.output != nil)
            #expect(bench.providers[0].requests()[0].headers["traceparent"] == "parent-0")
        }
    }

    @Test("refusals, a broken answer and the one that is used are requests of their own, each with its end")
    func failover() async throws {
        try await CallBench.run(.refusing(503), .quick { $0.errorAfterTokens = 0 }, .quick()) { bench in
            let requests = try await record(bench)
            #expect(requests == ["one 503 refused", "two 200 error_frame", "three 200 stop"])
        }
        try await CallBench.run(nil, .refusing(400)) { bench in
            let requests = try await record(bench)
            #expect(requests == ["one - refused", "two 400 refused"])
        }
    }

    @Test("the same provider asked again is another request")
    func retry() async throws {
        try await CallBench.run(
            .quick(), limits: CallLimits(firstToken: .seconds(30), firstTokenOverall: .seconds(60), refusal: .seconds(60))
        ) { bench in
            try bench.providers[0].enqueue(.refusing(503))
            let requests = try await record(bench)
            #expect(requests == ["one 503 refused", "one 200 stop"])
        }
    }

    @Test("a request without text in time ends when the next provider is asked, and so does one that a faster answer makes useless")
    func late() async throws {
        var limits = CallBench.patient
        limits.firstToken = .seconds(1)
        let slow = Script.quick { ($0.text, $0.firstTokenMs) = ("slow", 20_000) }
        try await CallBench.run(slow, .quick(), limits: limits) { bench in
            let requests = try await record(bench)
            #expect(requests == ["one 200 no_first_token", "two 200 stop"])
        }
        try await CallBench.run(.quick(), .quick(), isHedged: true) { bench in
            for _ in 0..<LatencyHistory.enough { _ = try await bench.ask() }
            try bench.providers[0].enqueue(slow)
            let requests = try await record(bench)
            #expect(requests == ["one cancelled", "two 200 stop hedge"])
        }
    }

    @Test("a call that is cancelled, and one that is cut after its first text, end their request once")
    func ends() async throws {
        try await CallBench.run(.quick { $0.cutAfterTokens = 2 }, .quick()) { bench in
            let requests = try await record(bench)
            #expect(requests == ["one 200 cut"])
        }
        try await CallBench.run(.quick { ($0.text, $0.firstTokenMs) = ("slow", 20_000) }) { bench in
            let recorder = Recorder()
            let (call, generation) = bench.start(tracing: recorder.tracing)
            try await eventually { bench.providers[0].stats.running == 1 }
            generation.cancel()
            _ = try await call.ended()
            #expect(recorder.all.map { $0.results.map(\.end) } == [[.cancelled]])
        }
    }
}
