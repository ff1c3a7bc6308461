import CoachCore
import ProviderSimulator
import TestSupport
import Testing

@testable import ModelProviders

@Suite("ModelCall, when providers hang or break off")
struct ModelCallBreakTests {
    @Test("a provider that hangs is given up for the next; one that had accepted may bill, so that was told")
    func hanging() async throws {
        let limits = CallLimits(connect: .seconds(30), firstToken: .seconds(3), firstTokenOverall: .seconds(60))
        try await CallBench.run(.quick { $0.hang = true }, .quick { $0.text = "here" }, limits: limits) { bench in
            let record = try await bench.ask()
            #expect(record.fault == nil)
            #expect(record.accepted == ["two"])
            #expect(record.text == "here")
            #expect(record.duration >= .seconds(3))
            try await eventually { bench.providers[0].stats.running == 0 }
        }
        try await CallBench.run(.quick { $0.stallAfterTokens = 0 }, .quick { $0.text = "here" }, limits: limits) { bench in
            let record = try await bench.ask()
            #expect(record.accepted == ["one", "two"])
            #expect(record.text == "here")
        }
    }

    @Test("a lone provider that hangs ends the call after its time")
    func loneHanging() async throws {
        try await CallBench.run(.quick { $0.hang = true }, limits: CallLimits(firstToken: .milliseconds(300))) { bench in
            let record = try await bench.ask()
            #expect(record.fault?.kind == .noFirstToken)
            #expect(record.duration >= .milliseconds(300))
        }
    }

    @Test("silence between tokens ends the call, keeps what was said, and hangs up")
    func stall() async throws {
        var limits = CallBench.patient
        limits.silence = .seconds(1)
        try await CallBench.run(.quick { ($0.tokens, $0.stallAfterTokens) = (["a", "b", "c"], 2) }, .quick(), limits: limits) { bench in
            let record = try await bench.ask()
            #expect(record.fault?.kind == .stalled)
            #expect(record.text == "ab")
            #expect(record.accepted == ["one"])
            try await eventually { bench.providers[0].stats.clientClosed == 1 }
        }
    }

    @Test("a turn that never ends is ended")
    func turnLimit() async throws {
        let endless = Script.quick { ($0.words, $0.paceMs) = (100_000, 5) }
        try await CallBench.run(endless, limits: CallLimits(turn: .milliseconds(500))) { bench in
            let record = try await bench.ask()
            #expect(record.fault?.kind == .timeLimit)
            #expect(record.duration >= .milliseconds(500))
        }
    }

    @Test(
        "after text a break is a break: the text is kept, nobody continues it",
        arguments: [
            (Script.quick { ($0.tokens, $0.cutAfterTokens) = (["a", "b", "c"], 2) }, ModelFault.Kind.cut),
            (.quick { ($0.tokens, $0.cutAfterTokens, $0.cutInsideFrame) = (["a", "b", "c"], 2, true) }, .cut),
            (.quick { ($0.tokens, $0.errorAfterTokens) = (["a", "b", "c"], 2) }, .errorFrame),
            (.quick { ($0.tokens, $0.errorAfterTokens, $0.errorThenDone) = (["a", "b", "c"], 2, true) }, .errorFrame),
        ])
    func breaks(_ script: Script, _ kind: ModelFault.Kind) async throws {
        try await CallBench.run(script, .quick()) { bench in
            let record = try await bench.ask()
            #expect(record.text == "ab")
            #expect(record.fault?.kind == kind)
            #expect(bench.providers[1].stats.started == 0)
        }
    }

    @Test("an answer that outgrows its bound is kept up to it")
    func tooLong() async throws {
        var limits = CallBench.patient
        limits.answerBytes = 1001
        try await CallBench.run(.quick { $0.text = String(repeating: "é", count: 5000) }, limits: limits) { bench in
            let record = try await bench.ask()
            #expect(record.fault?.kind == .tooLong)
            #expect(record.text == String(repeating: "é", count: 500))
            try await eventually { bench.providers[0].stats.running == 0 }
        }
    }
}
