import CoachCore
import Foundation
import ProviderSimulator
import TestSupport
import Testing

@testable import ModelProviders

@Suite("HedgedCall, against simulated providers")
struct HedgedCallTests {
    /// Calls after which the usual time of the first provider is known.
    private func warmUp(_ bench: CallBench) async throws {
        for _ in 0..<LatencyHistory.enough { _ = try await bench.ask() }
    }

    private static let slow = Script.quick { ($0.text, $0.firstTokenMs) = ("slow", 20_000) }

    @Test("a second provider answers when the first is late; the first is hung up on, and its request is told")
    func hedge() async throws {
        try await CallBench.run(.quick { $0.text = "first" }, .quick { $0.text = "second" }, isHedged: true) { bench in
            try await warmUp(bench)
            #expect(bench.providers[1].requests().isEmpty)
            try bench.providers[0].enqueue(Self.slow)
            let record = try await bench.ask()
            #expect(record.text == "second" && record.accepted.last == "two" && record.ends == [.stop], "\(record)")
            #expect(record.unusedCalls.map(\.name.provider) == ["one"])
            #expect(record.usage?.output != nil)
            try await eventually { bench.providers[0].stats.running == 0 }
            #expect(bench.providers[0].requests().count == LatencyHistory.enough + 1 && bench.providers[1].requests().count == 1)
        }
    }

    @Test("a second provider is asked after the 95th percentile of the first one's own times, not after their mean or maximum")
    func hedgingDelay() async throws {
        try await CallBench.run(.quick { $0.text = "first" }, .quick { $0.text = "second" }, isHedged: true) { bench in
            // Every other call goes to the second provider, so each has a history of its own, and no circuit opens. The first one's times:
            // seventeen short ones, 300 ms twice, 1 s. The second one's has more long ones.
            let times: [Int: Double] = [3: 300, 8: 1_000, 13: 300]
            for call in 0..<LatencyHistory.enough {
                try bench.providers[0].enqueue(.refusing(503))
                if call % 5 == 0 { try bench.providers[1].enqueue(.quick { ($0.text, $0.firstTokenMs) = ("second", 1_100) }) }
                #expect(try await bench.ask().text == "second")
                if let time = times[call] { try bench.providers[0].enqueue(.quick { ($0.text, $0.firstTokenMs) = ("first", time) }) }
                #expect(try await bench.ask().text == "first")
            }
            #expect(bench.providers[1].requests().count == LatencyHistory.enough, "no hedge without a history")
            var delays: [TimeInterval] = []
            // The shortest of some tries: the machine may be busy with other tests.
            while delays.count < 3, delays.min() ?? .infinity > 0.6 {
                try bench.providers[0].enqueue(Self.slow)
                #expect(try await bench.ask().text == "second")
                let received = try bench.providers.map { try #require($0.requests().last).received }
                delays.append(received[1].timeIntervalSince(received[0]))
            }
            let shortest = try #require(delays.min())
            #expect(shortest > 0.2 && shortest < 0.9, "\(delays)")
        }
    }

    @Test("the slower provider is hung up on within 100 ms of the other one's text")
    func loser() async throws {
        try await CallBench.run(.quick { $0.text = "first" }, .quick { $0.text = "second" }, isHedged: true) { bench in
            try await warmUp(bench)
            var best = Duration.seconds(60)
            // The best of some tries, fewer than the budget of repetitions has.
            for round in 1...5 where best >= .milliseconds(100) {
                try bench.providers[0].enqueue(Self.slow)
                let (recorder, _) = bench.start()
                try await eventually { !recorder.now.text.isEmpty }
                let start = ContinuousClock.now
                try await eventually { bench.providers[0].stats.clientClosed == round }
                best = min(best, start.duration(to: .now))
                #expect(try await recorder.ended().text == "second")
            }
            #expect(best < .milliseconds(100))
        }
    }

    @Test("the second provider answers when the first ends without text meanwhile", arguments: ["length", "content_filter"])
    func emptyFirst(_ reason: String) async throws {
        let second = Script.quick { ($0.text, $0.firstTokenMs) = ("second", 1_500) }
        try await CallBench.run(.quick { $0.text = "first" }, second, isHedged: true) { bench in
            try await warmUp(bench)
            try bench.providers[0].enqueue(.quick { ($0.empty, $0.finishReason, $0.firstTokenMs) = (true, reason, 500) })
            let record = try await bench.ask()
            #expect(record.text == "second" && record.accepted == ["one", "two"] && record.ends == [.stop], "\(record)")
            #expect(record.unusedCalls.map(\.name.provider) == ["one"] && record.unusedCalls.map(\.isAccepted) == [true])
            #expect(bench.providers[1].requests().count == 1)
        }
    }

    @Test("the first provider answers after all when the second fails")
    func failingSecond() async throws {
        try await CallBench.run(.quick { $0.text = "first" }, .refusing(401), isHedged: true) { bench in
            try await warmUp(bench)
            try bench.providers[0].enqueue(.quick { ($0.text, $0.firstTokenMs) = ("late", 1_500) })
            let record = try await bench.ask()
            #expect(
                record.text == "late"
                    && record.unusedCalls == [UnusedCall(name: ModelName(provider: "two", model: "sim-coach-1"), isAccepted: false)])
        }
    }

    @Test("a first call that breaks before its text and is followed by a refusal is told once, as no answer")
    func broken() async throws {
        try await CallBench.run(.quick { $0.errorAfterTokens = 0 }, .refusing(401), isHedged: true) { bench in
            let record = try await bench.ask()
            #expect(record.unusedCalls.map(\.name.provider) == ["one", "two"] && record.unusedCalls.map(\.isAccepted) == [false, false])
            #expect(record.accepted == ["one"] && record.ends.first?.isFault == true)
        }
    }

    @Test("what the first call reports before its text is told at once, because a turn may end meanwhile", arguments: [false, true])
    func reports(whileSecondRuns: Bool) async throws {
        try await CallBench.run(.quick { $0.text = "first" }, Self.slow, isHedged: true) { bench in
            if whileSecondRuns { try await warmUp(bench) }
            try bench.providers[0].enqueue(.quick { ($0.thinking, $0.stallAfterTokens) = ("a secret thought", 0) })
            let (recorder, generation) = bench.start()
            try await eventually { recorder.now.reasoningBytes == 16 && bench.providers[1].stats.running == (whileSecondRuns ? 1 : 0) }
            #expect(recorder.now.accepted == ["one"] && recorder.now.bytes.isEmpty && recorder.now.ends.isEmpty)
            generation.cancel()
            let record = try await recorder.ended()
            #expect(record.ends == [.cancelled] && record.accepted.last == "one" && record.reasoningBytes == 16, "\(record)")
            #expect(record.unusedCalls.map(\.name.provider) == (whileSecondRuns ? ["two"] : []))
        }
    }

    @Test("a cancel reaches both providers")
    func cancel() async throws {
        try await CallBench.run(.quick { $0.text = "first" }, Self.slow, isHedged: true) { bench in
            try await warmUp(bench)
            try bench.providers[0].enqueue(Self.slow)
            let (recorder, generation) = bench.start()
            try await eventually { bench.providers[1].stats.running == 1 }
            generation.cancel()
            let record = try await recorder.ended()
            #expect(record.ends == [.cancelled] && record.unusedCalls.map(\.name.provider) == ["two"])
            try await eventually { bench.providers.allSatisfy { $0.stats.running == 0 } }
        }
    }

    @Test("a provider that has just refused is not called again, and one that the second call has is not the first one's next")
    func failedBefore() async throws {
        try await CallBench.run(
            .refusing(503), .quick { $0.text = "second" }, .quick { ($0.text, $0.firstTokenMs) = ("third", 2_000) }, isHedged: true
        ) { bench in
            // Enough for the usual time of the first provider, whose refusals are not counted.
            for _ in 0..<LatencyHistory.enough { try bench.providers[0].enqueue(.quick { $0.firstTokenMs = 60 }) }
            try await warmUp(bench)
            // It refuses at once. The second one is late and breaks while the third, which the hedge calls, has not answered.
            try bench.providers[1].enqueue(.quick { ($0.firstTokenMs, $0.errorAfterTokens) = (1_000, 0) })
            let record = try await bench.ask()
            #expect(record.text == "third" && record.accepted == ["two", "three"], "\(record)")
            #expect(record.unusedCalls.map(\.name.provider) == ["one", "two"], "each is told once")
            #expect(bench.providers[0].requests().count == LatencyHistory.enough + 1)
            #expect(bench.providers[1].requests().count == 1 && bench.providers[2].requests().count == 1)
        }
    }

    @Test("without hedging the second provider is not called")
    func off() async throws {
        try await CallBench.run(.quick { $0.text = "first" }, .quick { $0.text = "second" }) { bench in
            try await warmUp(bench)
            try bench.providers[0].enqueue(.quick { ($0.text, $0.firstTokenMs) = ("late", 1_000) })
            let record = try await bench.ask()
            #expect(record.text == "late" && bench.providers[1].requests().isEmpty)
        }
    }
}
