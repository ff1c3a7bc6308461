import CoachCore
import ProviderSimulator
import Synchronization
import Testing

@testable import ModelProviders

@Suite("ModelCall, against simulated providers")
struct ModelCallTests {
    @Test("an answer is told as acceptance, text, usage and end")
    func ordinary() async throws {
        try await CallBench.run(.quick { $0.text = "Grüß dich 👋🏽, wie geht es dir?" }) { bench in
            #expect(bench.model.firstChoice == ModelName(provider: "one", model: "sim-coach-1"))
            let record = try await bench.ask()
            #expect(record.accepted == ["one"] && record.beganWithAcceptance == true)
            #expect(record.text == "Grüß dich 👋🏽, wie geht es dir?")
            #expect((record.usage?.totalInput ?? 0) > 0 && (record.usage?.totalOutput ?? 0) > 0)
            #expect(record.ends == [.stop])
        }
    }

    @Test("the same byte by byte, with separators and joiners")
    func bytewise() async throws {
        try await CallBench.run(.quick { ($0.unicode, $0.bytewise) = (true, true) }, .quick { $0.unicode = true }) { bench in
            let record = try await bench.ask()
            #expect(record.ends == [.stop])
            #expect(record.text.unicodeScalars.contains("\u{2028}"))
            #expect(record.accepted == ["one"])
        }
    }

    @Test("the ends of the dialect are told", arguments: [("length", ModelEnd.length), ("content_filter", .filtered)])
    func ends(_ reason: String, _ end: ModelEnd) async throws {
        try await CallBench.run(.quick { $0.finishReason = reason }) { bench in
            let record = try await bench.ask()
            #expect(record.ends == [end])
        }
    }

    @Test("a missing end mark and missing usage are forgiven, a missing finish reason is not")
    func sloppy() async throws {
        for script in [Script.quick { $0.noDone = true }, .quick { $0.noUsage = true }] {
            try await CallBench.run(script) { bench in
                let record = try await bench.ask()
                #expect(record.ends == [.stop])
                #expect((record.usage == nil) == (script.noUsage == true))
            }
        }
        try await CallBench.run(.quick { ($0.text, $0.noFinish) = ("Half.", true) }) { bench in
            let record = try await bench.ask()
            #expect(record.fault?.kind == .cut && record.text == "Half." && record.usage != nil)
        }
    }

    @Test("text that waits is to be released after a second of silence, and the answer goes on")
    func silence() async throws {
        let script = Script.quick { ($0.tokens, $0.stallAfterTokens, $0.stallMs) = (["Call ", "1-555", " no"], 2, 2_000) }
        try await CallBench.run(script) { bench in
            let wasSilent = Mutex(0)
            let recorder = CallRecorder { text, isSilent in
                if isSilent { wasSilent.withLock { $0 += 1 } }
                return ReleaseState(isReleased: true, isHeld: text.hasSuffix("555") && !isSilent)
            }
            let record = try await bench.start(recorder: recorder).recorder.ended()
            #expect(wasSilent.withLock { $0 } == 1)
            #expect(record.text == "Call 1-555 no" && record.ends == [.stop])
        }
    }

    @Test("three hundred answers at once are all whole")
    func crowd() async throws {
        try await CallBench.run(.quick { ($0.text, $0.paceMs) = (String(repeating: "whole ", count: 20), 1) }) { bench in
            let calls = (0..<300).map { _ in bench.start().recorder }
            for call in calls {
                let record = try await call.ended()
                #expect(record.ends == [.stop])
                #expect(record.text == String(repeating: "whole ", count: 20))
            }
        }
    }
}
