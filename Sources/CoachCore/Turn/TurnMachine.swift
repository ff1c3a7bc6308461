/// Decides what the words of a model call mean for the turn: whether they are released, and how the turn ends.
/// Pure; the driver (`TokenRelay.LiveTurn`) appends, cancels and wakes.
///
/// It is asked once a token, so it handles counts and not bytes, and its answers are not collected in arrays.
public struct TurnMachine: Sendable {
    /// How the turn ends. Comes exactly once.
    public struct End: Sendable, Equatable {
        /// To be appended to the released answer first; mostly nothing. Counted in the outcome.
        public var lastWords: [UInt8] = []
        public var outcome: TurnOutcome
    }

    private enum Phase: Sendable {
        case running
        /// A stop was asked for; the model's end is awaited.
        case stopping
        case ended
    }

    private var phase = Phase.running
    private var releasedBytes = 0
    private var usage = TokenUsage()
    /// Served when every model fails before the first token and the user is in acute danger (CONTRACT §4).
    private let safetyText: [UInt8]?
    /// Who accepted the call so far.
    public private(set) var answeredBy: ModelName?

    /// `safetyText`: the fixed text of tier ≥ 3; nil below.
    public init(safetyText: [UInt8]? = nil) { self.safetyText = safetyText }

    /// True once an `End` was returned.
    public var isEnded: Bool { phase == .ended }

    /// True between a stop and the end.
    public var isStopping: Bool { phase == .stopping }

    /// Whether what the model says is released. What comes after a stop is dropped, though still counted in the usage; after the end, a
    /// provider may have been faster than its cancellation.
    public var isReleasing: Bool { phase == .running }

    /// So many bytes of the model's text were appended to the answer, as `isReleasing` had allowed.
    public mutating func released(_ bytes: Int) {
        releasedBytes += bytes
    }

    /// A provider began to answer.
    public mutating func accepted(by name: ModelName) {
        if !isEnded { answeredBy = name }
    }

    /// The provider counted.
    public mutating func reported(_ latest: TokenUsage) {
        if !isEnded { usage = latest }
    }

    /// The model ended; nil when it had ended before.
    public mutating func ended(_ end: ModelEnd) -> End? {
        guard !isEnded else { return nil }
        let wasStopping = isStopping
        phase = .ended
        return wasStopping ? self.end(.stopped, .stopped) : finish(end)
    }

    /// The user, or a deleted conversation, ends the turn: true when the model call is to be cancelled; its end follows. Idempotent;
    /// harmless after the end, which it may race with.
    public mutating func stopRequested() -> Bool {
        guard phase == .running else { return false }
        phase = .stopping
        return true
    }

    private func finish(_ modelEnd: ModelEnd) -> End {
        let spoke = releasedBytes > 0
        switch modelEnd {
        case .stop where spoke: return end(.complete, .stop)
        case .length where spoke: return end(.complete, .length)
        case .filtered where spoke: return end(.complete, .safety)
        case .failed(let fault) where spoke && fault.kind == .tooLong: return end(.complete, .length, fault)
        case .failed(let fault) where spoke: return end(.interrupted, nil, fault)
        case .cancelled where spoke: return end(.interrupted, nil, ModelFault(kind: .cut, detail: "cancelled"))
        case .stop, .length, .filtered, .failed, .cancelled:
            if let safetyText { return end(.complete, .safety, modelEnd.fault, saying: safetyText) }
            return end(.failed, nil, modelEnd.fault)
        }
    }

    private func end(
        _ status: TurnStatus, _ reason: FinishReason?, _ fault: ModelFault? = nil, saying lastWords: [UInt8] = []
    ) -> End {
        End(
            lastWords: lastWords,
            outcome: TurnOutcome(
                status: status, finishReason: reason, fault: fault, answeredBy: answeredBy, usage: usage,
                releasedBytes: releasedBytes + lastWords.count))
    }
}

extension ModelEnd {
    /// The fault to report when the model ended without a word.
    fileprivate var fault: ModelFault {
        if case .failed(let fault) = self { fault } else { ModelFault(kind: .cut, detail: "ended without text") }
    }
}

/// How a turn ended, before it was priced and saved.
public struct TurnOutcome: Sendable, Equatable {
    public var status: TurnStatus
    /// Set when the stream ends with `done`; nil when it ends with `error`.
    public var finishReason: FinishReason?
    /// Why it ended early, for the log.
    public var fault: ModelFault?
    /// Who accepted the call; nil: nothing can have been billed.
    public var answeredBy: ModelName?
    /// As reported; classes the provider did not report are nil.
    public var usage: TokenUsage
    /// UTF-8 bytes of the released answer.
    public var releasedBytes: Int

    /// Memberwise.
    public init(
        status: TurnStatus, finishReason: FinishReason?, fault: ModelFault?, answeredBy: ModelName?, usage: TokenUsage, releasedBytes: Int
    ) {
        self.status = status
        self.finishReason = finishReason
        self.fault = fault
        self.answeredBy = answeredBy
        self.usage = usage
        self.releasedBytes = releasedBytes
    }
}
