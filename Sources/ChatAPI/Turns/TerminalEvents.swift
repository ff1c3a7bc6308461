import CoachCore
import GatewayAPI
import HTTPEdge
import TokenRelay

/// The last events of every stream of a turn: `usage` and `done` after a normal end, otherwise `error`, after `usage` if anything was
/// billed.
struct TerminalEvents: Sendable {
    var facts: TurnFacts
    var ending: TurnEnding
    /// Sent before an `error` in a stream without text (CONTRACT §4: any refusal carries the resources, and no resources follow a token).
    var failureSafety: StreamSafety?
    /// The length of the saved answer in UTF-8 bytes.
    var keptBytes: Int
    /// The client's cursor in bytes. Beyond `keptBytes` when the client sent a wrong one, or has text that was lost in a crash.
    var cursor: Int
    /// The client's cursor when its stream began.
    var start = 0

    func encode(into bytes: inout [UInt8]) {
        if cursor > keptBytes, facts.hasLostAttempt { return encode(Self.lost, cursor: 0, into: &bytes) }
        // After a crash a client may have more than was saved, which it must drop, also when the turn counts as stopped.
        let isCut = ending.isByCrash && cursor > keptBytes
        let isBeyond = ending.finishReason != nil && !isCut && cursor > keptBytes
        if let usage = ending.bill.map(usage) ?? (ending.finishReason != nil && !isBeyond ? unbilled : nil) {
            StreamEvent.usage(usage).encode(cursor: keptBytes, into: &bytes)
        }
        if isBeyond {
            encode(beyondTheEnd, cursor: keptBytes, into: &bytes)
        } else if let reason = ending.finishReason, !isCut {
            StreamEvent.done(StreamDone(finishReason: StreamDone.Reason(reason), messageID: facts.identity.messageID.uuid))
                .encode(cursor: keptBytes, into: &bytes)
        } else {
            encode(failure, cursor: keptBytes, into: &bytes)
        }
    }

    private func encode(_ failure: StreamFailure, cursor: Int, into bytes: inout [UInt8]) {
        let hasText = self.cursor > start
        if let failureSafety, !hasText { StreamEvent.safety(failureSafety).encode(cursor: 0, into: &bytes) }
        StreamEvent.error(failure).encode(cursor: cursor, into: &bytes)
    }

    /// The error when the turn ended normally and the cursor is beyond its end.
    private var beyondTheEnd: StreamFailure {
        StreamFailure(.invalidInput, Self.beyondMessage, retryable: false, partial: false, keptBytes: keptBytes)
    }

    /// The error when the client's text is from an earlier attempt that a crash lost: the client must drop it. A resume from byte 0 returns
    /// the current text.
    static let lost = StreamFailure(
        .providersUnavailable, "what was read is lost: read the answer from its start", partial: true, keptBytes: 0)

    static let beyondMessage = "the cursor is beyond the end of the answer"

    private func usage(_ bill: TurnBill) -> StreamUsage {
        StreamUsage(
            model: bill.name.model, provider: bill.name.provider, inputTokens: bill.usage.totalInput,
            cachedInputTokens: bill.usage.cachedInput, outputTokens: bill.usage.totalOutput,
            costUSD: bill.cost.map { MoneyText.format(nanodollars: $0.raw) }, estimated: bill.estimated)
    }

    /// The usage of a turn without a bill, and so without a provider: zeros, or nulls when the bill is not known.
    private var unbilled: StreamUsage {
        let usage = ending.usage
        return StreamUsage(
            model: nil, provider: nil, inputTokens: usage.totalInput, cachedInputTokens: usage.cachedInput,
            outputTokens: usage.totalOutput, costUSD: ending.isBillKnown ? MoneyText.format(nanodollars: 0) : nil, estimated: false)
    }

    /// The `error` event of a turn that ended without a finish reason.
    var failure: StreamFailure {
        if !ending.isSaved { return ending.status == .failed ? rejected : unsaved }
        let code = ending.errorCode.flatMap(ErrorCode.init(rawValue:)) ?? .providersUnavailable
        // `partial` also if the client has text that is not kept, which it must drop.
        let partial = ending.status == .interrupted || cursor > keptBytes
        let cause =
            switch code {
            case .providersUnavailable: "no provider could answer"
            case .unforeseen: "the answer could not be saved"
            default: "the turn was rejected"
            }
        return StreamFailure(
            code, partial ? "the answer was interrupted" : cause, retryAfter: ending.retryAfter, partial: partial,
            keptBytes: partial ? keptBytes : 0)
    }

    /// The error when the database rejected the answer: nothing is kept, and the same request begins the next attempt.
    private var rejected: StreamFailure {
        StreamFailure(.unforeseen, "the answer could not be saved", partial: cursor > 0, keptBytes: 0)
    }

    /// The error when neither the database nor the disk could save the answer yet: it is only in memory and may be lost. A resume returns
    /// the outcome.
    private var unsaved: StreamFailure {
        StreamFailure(.databaseUnavailable, "the answer could not be saved yet", retryAfter: 1, partial: true, keptBytes: keptBytes)
    }
}

extension StreamFailure {
    /// With the code's text for the user and its action.
    fileprivate init(
        _ code: ErrorCode, _ message: String, retryable: Bool = true, retryAfter: Int? = nil, partial: Bool, keptBytes: Int
    ) {
        let row = ErrorMapping.row(code)
        self.init(
            code: code, message: message, userMessage: row.userMessage, action: row.action, retryable: retryable, retryAfter: retryAfter,
            partial: partial, keptBytes: keptBytes)
    }
}

extension StreamDone.Reason {
    fileprivate init(_ reason: FinishReason) {
        self =
            switch reason {
            case .stop: .stop
            case .length: .length
            case .stopped: .stopped
            case .safety: .safety
            }
    }
}
