import CoachCore
import ProviderSimulator
import TestSupport
import Testing

@testable import ModelProviders

@Suite("ModelCall, cancelled and let go")
struct ModelCallCancellationTests {
    @Test("a cancel in mid-answer ends the call and hangs up within 100 ms")
    func cancel() async throws {
        try await CallBench.run(.quick { ($0.words, $0.paceMs) = (100_000, 5) }) { bench in
            var best = Duration.seconds(60)
            // The best of some tries: the machine may be busy with other tests.
            for round in 1...40 where best >= .milliseconds(100) {
                let (recorder, generation) = bench.start()
                try await eventually { !recorder.now.text.isEmpty }
                let start = ContinuousClock.now
                generation.cancel()
                try await eventually { bench.providers[0].stats.clientClosed == round }
                best = min(best, start.duration(to: .now))
                #expect(try await recorder.ended().ends == [.cancelled])
            }
            #expect(best < .milliseconds(100))
        }
    }

    @Test("a call that runs out of time is cancelled at its provider within 100 ms", arguments: ["first token", "silence", "turn"])
    func timeout(_ limit: String) async throws {
        var limits = CallBench.patient
        switch limit {
        case "first token": limits.firstToken = .milliseconds(200)
        case "silence": limits.silence = .milliseconds(200)
        default: limits.turn = .milliseconds(200)
        }
        let script = Script.quick { script in
            (script.words, script.paceMs) = (100_000, 5)
            if limit == "first token" { script.hang = true }
            if limit == "silence" { script.stallAfterTokens = 2 }
        }
        try await CallBench.run(script, limits: limits) { bench in
            var best = Duration.seconds(60)
            // The best of some tries: the machine may be busy with other tests.
            for round in 1...10 where best >= .milliseconds(100) {
                let record = try await bench.ask()
                #expect(record.fault != nil)
                try await eventually { bench.providers[0].stats.clientClosed == round }
                best = min(best, record.endedAt?.duration(to: .now) ?? .seconds(60))
            }
            #expect(best < .milliseconds(100))
        }
    }

    @Test("calls that are cancelled at any moment, from any thread, end exactly once")
    func cancelRace() async throws {
        try await CallBench.run(.quick { $0.words = 20 }) { bench in
            let ends = try await withThrowingTaskGroup(of: CallRecord.self) { group in
                for index in 0..<300 {
                    group.addTask {
                        let (recorder, generation) = bench.start()
                        if index % 2 == 0 { generation.cancel() }
                        if index % 3 == 0 { try await eventually { !recorder.now.isEmpty } }
                        generation.cancel()
                        let record = try await recorder.ended()
                        generation.cancel()
                        return record
                    }
                }
                return try await group.reduce(into: [CallRecord]()) { $0.append($1) }
            }
            for record in ends { #expect(record.ends == [.cancelled] || record.ends == [.stop]) }
            try await eventually { bench.providers[0].stats.running == 0 }
        }
    }

    @Test("a call is let go once it has ended, however it ended")
    func memory() async throws {
        for script in [Script.quick(), .quick { $0.stallAfterTokens = 1 }, .refusing(400)] {
            try await CallBench.run(script) { bench in
                let recorder = CallRecorder()
                weak var released: ModelCall?
                do {
                    let call = ModelCall(prompt: CallBench.prompt("hello"), router: bench.router, beforeRequest: nil) { recorder.take($0) }
                    released = call
                    let bound = bench.router.transfers.bind(call)
                    bound.submit { $0.begin() }
                    if script.stallAfterTokens != nil {
                        try await eventually { !recorder.now.text.isEmpty }
                        bound.submit { $0.cancel() }
                    }
                }
                _ = try await recorder.ended()
                try await eventually { released == nil }
            }
        }
    }
}
