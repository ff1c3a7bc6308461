import CoachCore
import GatewayAPI
import TokenRelay

/// The first events of every stream of a turn: `start`, and `safety` when somebody is in danger, on every resume too.
struct Greeting: Sendable {
    var requestID: String
    var safety: StreamSafety?

    func encode(_ facts: TurnFacts, into bytes: inout [UInt8]) {
        let start = StreamStart(
            turnID: facts.identity.turnID.uuid, conversationID: facts.identity.conversationID.uuid,
            userMessageID: facts.identity.userMessageID.uuid, messageID: facts.identity.messageID.uuid,
            domain: facts.domain.domain?.rawValue, domainConfidence: facts.domain.confidence, personaID: facts.personaID?.uuid,
            model: facts.model.model, disclosure: nil, requestID: requestID)
        StreamEvent.start(start).encode(cursor: 0, into: &bytes)
        if let safety { StreamEvent.safety(safety).encode(cursor: 0, into: &bytes) }
    }
}

/// The last events of every stream of a turn: `usage` when anything was billed, then `done` or `error`.
struct Farewell: Sendable {
    var facts: TurnFacts
    var ending: TurnEnding
    /// UTF-8 bytes of the answer that are kept.
    var keptBytes: Int
    /// Where the follower stands, bytes: behind the end when it asked for bytes that were never said, or were lost in a crash.
    var cursor: Int

    func encode(into bytes: inout [UInt8]) {
        if ending.finishReason != nil, cursor > keptBytes {
            return StreamEvent.error(beyondTheEnd).encode(cursor: keptBytes, into: &bytes)
        }
        if let bill = ending.bill { StreamEvent.usage(usage(bill)).encode(cursor: keptBytes, into: &bytes) }
        if let reason = ending.finishReason.flatMap({ StreamDone.FinishReason(rawValue: $0.rawValue) }) {
            StreamEvent.done(StreamDone(finishReason: reason, messageID: facts.identity.messageID.uuid))
                .encode(cursor: keptBytes, into: &bytes)
        } else {
            StreamEvent.error(failure).encode(cursor: keptBytes, into: &bytes)
        }
    }

    /// The turn ended as it should, and is shorter than the client says it has.
    private var beyondTheEnd: StreamFailure {
        let row = ErrorMapping.row(.invalidInput)
        return StreamFailure(
            code: .invalidInput, message: Self.beyondMessage, userMessage: row.userMessage, action: row.action, retryable: false,
            retryAfter: nil, partial: false, keptBytes: keptBytes)
    }

    static let beyondMessage = "the cursor is behind the end of the answer"

    private func usage(_ bill: TurnBill) -> StreamUsage {
        StreamUsage(
            model: bill.model, provider: bill.provider, inputTokens: bill.usage.totalInput, cachedInputTokens: bill.usage.cachedInput,
            outputTokens: bill.usage.totalOutput, costUSD: bill.cost.map { MoneyText.format(nanodollars: $0.raw) },
            estimated: bill.estimated)
    }

    private var failure: StreamFailure {
        let row = ErrorMapping.row(.providersUnavailable)
        let partial = ending.status == .interrupted
        return StreamFailure(
            code: .providersUnavailable, message: partial ? "the answer was interrupted" : "no provider could answer",
            userMessage: row.userMessage, action: row.action, retryable: true, retryAfter: nil, partial: partial,
            keptBytes: partial ? keptBytes : 0)
    }
}
