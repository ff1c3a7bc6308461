import CoachCore
import Foundation
import Testing

@testable import TokenRelay

extension GuardedAnswer {
    /// The guard with the rules of the checkout.
    static func shipped(language: String, holdsSentences: Bool = false) throws -> GuardedAnswer {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../domains/safety").standardized
        func data(_ name: String) throws -> [UInt8] { Array(try Data(contentsOf: folder.appending(path: name))) }
        let rules = try OutputRules(json: data("output-guard.json"))
        let outputGuard = OutputGuard(rules: rules, resources: try CrisisResources(json: data("resources.json")))
        return GuardedAnswer(outputGuard, language: language, holdsSentences: holdsSentences)
    }
}

@Suite("What a live turn releases before and between the model's texts")
struct LiveTurnReleaseTests {
    @Test("text that waits is released after a silence, and a match that it began still drops what follows")
    func silence() throws {
        let script = ScriptedModel()
        let turn = LiveTurn(facts: .sample, outputGuard: try .shipped(language: "en"))
        turn.generate(with: script.model, Prompt(messages: [], maximumOutputTokens: 1))
        #expect(script.send("Sure. You should kill") == ReleaseState(isReleased: true, isHeld: true))
        #expect(!String(decoding: turn.released.text, as: UTF8.self).contains("kill"))
        #expect(script.send("", isSilent: true) == ReleaseState(isReleased: true, isHeld: false))
        #expect(String(decoding: turn.released.text, as: UTF8.self) == "Sure. You should kill")
        script.send(" yourself today. Well")
        #expect(!String(decoding: turn.released.text, as: UTF8.self).contains("yourself"))
        #expect(String(decoding: turn.released.text, as: UTF8.self).hasPrefix("Sure. You should kill… "))
        script.end(.stop)
        #expect(turn.outcome?.replaced == [.encouragement])
    }

    @Test("an opening is released at once and counted, but does not keep another provider from answering")
    func opening() throws {
        let script = ScriptedModel()
        let first = ModelName(provider: "a", model: "a")
        let second = ModelName(provider: "b", model: "b")
        let turn = LiveTurn(
            facts: .sample, opening: Array("I'm here.".utf8), safetyText: Array("Fixed.".utf8),
            outputGuard: try .shipped(language: "en", holdsSentences: true))
        #expect(turn.released.text == Array("I'm here.".utf8) && turn.released.firstAt == nil)
        turn.generate(with: script.model, Prompt(messages: [], maximumOutputTokens: 1))
        #expect(script.send("Half a sen", acceptedBy: first) == ReleaseState(isReleased: false, isHeld: false))
        #expect(script.send("Are you alone? I", acceptedBy: second) == ReleaseState(isReleased: true, isHeld: false))
        script.end(.stop)
        #expect(String(decoding: turn.released.text, as: UTF8.self) == "I'm here.\n\nAre you alone? I")
        #expect(turn.released.firstAt != nil)
        let outcome = try #require(turn.outcome)
        #expect(outcome.status == .complete && outcome.finishReason == .stop && outcome.answeredBy == second)
        #expect(outcome.releasedBytes == turn.releasedBytes && outcome.modelBytes == 18 && !outcome.hasFixedText)
    }

    @Test("after an opening the fixed text is the answer when no text of a model was released")
    func openingAlone() throws {
        let script = ScriptedModel()
        let turn = LiveTurn(
            facts: .sample, opening: Array("I'm here.".utf8), safetyText: Array("Fixed.".utf8),
            outputGuard: try .shipped(language: "en", holdsSentences: true))
        turn.generate(with: script.model, Prompt(messages: [], maximumOutputTokens: 1))
        script.send("Half a sen")
        script.end(.failed(ModelFault(kind: .cut, detail: "")))
        #expect(String(decoding: turn.released.text, as: UTF8.self) == "I'm here.\n\nFixed.")
        let outcome = try #require(turn.outcome)
        #expect(outcome.status == .complete && outcome.finishReason == .safety && outcome.hasFixedText)
        #expect(outcome.releasedBytes == turn.releasedBytes)
    }
}
