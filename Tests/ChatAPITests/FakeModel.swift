import CoachCore
import Synchronization
import TokenRelay

/// A model whose updates the test sends.
final class FakeModel: Sendable {
    private let receive = Mutex<LanguageModel.Receiver?>(nil)

    private let name = ModelName(provider: "simulator", model: "sim")

    func turn(
        _ facts: TurnFacts = .sample, opening: String = "", isAccepted: Bool = true, recordedCalls: @escaping @Sendable () -> [Int] = { [] }
    ) -> LiveTurn {
        let turn = LiveTurn(facts: facts, opening: Array(opening.utf8), recordedCalls: recordedCalls)
        turn.generate(
            with: LanguageModel(firstChoice: name) { [self] _, _, receive in
                self.receive.withLock { $0 = receive }
                if isAccepted { _ = receive(ModelUpdate(acceptedBy: name)) }
                return Generation {}
            }, Prompt(messages: [], maximumOutputTokens: 1))
        return turn
    }

    func accept() { _ = receive.withLock { $0 }?(ModelUpdate(acceptedBy: name)) }

    func tell(_ calls: [UnusedCall]) { _ = receive.withLock { $0 }?(ModelUpdate(unusedCalls: calls)) }

    func emit(_ text: String) {
        let receive = receive.withLock { $0 }
        Array(text.utf8).withUnsafeBufferPointer { _ = receive?(ModelUpdate(text: $0)) }
    }

    func report(_ usage: TokenUsage? = nil, reasoningBytes: Int? = nil) {
        _ = receive.withLock { $0 }?(ModelUpdate(usage: usage, reasoningBytes: reasoningBytes))
    }

    func end(_ end: ModelEnd) { _ = receive.withLock { $0.take() }?(ModelUpdate(end: end)) }
}

extension TurnFacts {
    static var sample: TurnFacts {
        TurnFacts(
            userID: .random(),
            identity: TurnIdentity(
                turnID: .random(), conversationID: .random(), userMessageID: .random(), messageID: .random(), attempt: 1),
            day: CalendarDay(unixSeconds: 0),
            domain: DomainDecision(domain: .mindset, confidence: 1, source: .pinned), personaID: nil,
            model: ModelName(provider: "simulator", model: "sim"), risk: .calm, region: .unknown)
    }
}
