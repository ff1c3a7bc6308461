import CoachCore
import GatewayAPI
import TokenRelay

extension Workload {
    /// From a model's event to the bytes for a subscriber: the turn's lock, machine and answer, its signals, the cursor, the encoder. No
    /// socket.
    static let relay: [Workload] = [
        Workload("token-one-subscriber", .thousand) {
            { count in
                let relay = OneSubscriber()
                for _ in 0..<count { relay.deliverToken() }
                blackHole(relay.bytes)
            }
        },
        Workload("token-1000-turns", .thousand) {
            let relays = (0..<1000).map { _ in OneSubscriber() }
            return { count in
                for index in 0..<count { relays[index % relays.count].deliverToken() }
            }
        },
    ]
}

/// One turn and one subscriber, on one thread.
// SAFETY: a workload uses it on one thread only.
private final class OneSubscriber: SubscriberListener, @unchecked Sendable {
    private let turn: LiveTurn
    private var receiver: LanguageModel.Receiver?
    private var cursor = Cursor(after: 0)
    private var output: [UInt8] = []
    private let token = Array("vielleicht ".utf8)
    private(set) var bytes = 0

    init() {
        let name = ModelName(provider: "bench", model: "bench")
        turn = LiveTurn(
            facts: TurnFacts(
                userID: .random(),
                identity: TurnIdentity(
                    turnID: .random(), conversationID: .random(), userMessageID: .random(), messageID: .random(), attempt: 1),
                day: CalendarDay(unixSeconds: 0),
                domain: DomainDecision(domain: .mindset, confidence: 1, source: .pinned), personaID: nil, model: name, risk: .calm,
                region: .unknown))
        let subscriber = Subscriber()
        _ = turn.add(subscriber, limit: 1)
        subscriber.listen(self)
        let model = LanguageModel(firstChoice: name) { [unowned self] _, _, receiver in
            self.receiver = receiver
            return Generation {}
        }
        turn.generate(with: model, Prompt(messages: [], maximumOutputTokens: 1))
    }

    func deliverToken() { token.withUnsafeBufferPointer { _ = receiver?(ModelUpdate(text: $0)) } }

    func signalled(_ signal: Subscriber.Signal) {
        output.removeAll(keepingCapacity: true)
        while turn.step(&cursor, maximum: 8192, read: { StreamEvent.appendToken($0, cursor: $1, into: &output) }) != .waiting {}
        bytes += output.count
    }
}
