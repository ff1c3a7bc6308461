import CoachCore
import Synchronization

@testable import TokenRelay

/// A model whose updates the test sends.
final class ScriptedModel: Sendable {
    private struct State {
        var emit: LanguageModel.Receiver?
        var cancellations = 0
    }
    private let state = Mutex(State())

    var model: LanguageModel {
        LanguageModel(firstChoice: ModelName(provider: "test", model: "test")) { [self] _, _, emit in
            state.withLock { $0.emit = emit }
            return Generation { [self] in state.withLock { $0.cancellations += 1 } }
        }
    }

    var cancellations: Int { state.withLock { $0.cancellations } }
    @discardableResult
    func send(
        _ text: String, unusedCalls: [UnusedCall]? = nil, acceptedBy: ModelName? = nil, isSilent: Bool = false, usage: TokenUsage? = nil,
        end: ModelEnd? = nil
    ) -> ReleaseState? {
        let emit = state.withLock { $0.emit }
        return Array(text.utf8).withUnsafeBufferPointer {
            emit?(ModelUpdate(unusedCalls: unusedCalls, acceptedBy: acceptedBy, text: $0, isSilent: isSilent, usage: usage, end: end))
        }
    }

    func end(_ end: ModelEnd) { _ = state.withLock { $0.emit.take() }?(ModelUpdate(end: end)) }
}

extension LiveTurn {
    /// The outcome; call after the model's end.
    var outcome: TurnOutcome? {
        let outcome = Mutex<TurnOutcome?>(nil)
        onOutcome { signalled in outcome.withLock { $0 = signalled } }
        return outcome.withLock { $0 }
    }

    func take(_ cursor: inout Cursor, maximum: Int = 100) -> CursorStep { step(&cursor, maximum: maximum) { _, _ in } }

    func take(_ cursor: inout Cursor, maximum: Int = 100, into text: inout [UInt8]) -> CursorStep {
        step(&cursor, maximum: maximum) { piece, _ in text.append(contentsOf: piece) }
    }
}

extension TurnFacts {
    static var sample: TurnFacts {
        TurnFacts(
            userID: .random(),
            identity: TurnIdentity(
                turnID: .random(), conversationID: .random(), userMessageID: .random(), messageID: .random(), attempt: 1),
            day: CalendarDay(unixSeconds: 0),
            domain: DomainDecision(domain: .mindset, confidence: 1, source: .pinned), personaID: nil,
            model: ModelName(provider: "test", model: "test"), risk: .calm, region: .unknown)
    }
}
