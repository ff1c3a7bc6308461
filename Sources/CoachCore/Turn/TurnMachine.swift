/// State machine of one turn's model call: decides whether text is released and how the turn ends. Pure; the driver
/// (`TokenRelay.LiveTurn`) appends text, cancels the call and notifies subscribers.
///
/// Runs once per token, so it takes byte counts instead of bytes and allocates nothing.
public struct TurnMachine: Sendable {
    /// The end of the turn; returned exactly once.
    public struct End: Sendable, Equatable {
        /// UTF-8 text that the driver must append to the answer before it ends the turn; usually empty. Included in `releasedBytes`.
        public var textToAppend: [UInt8] = []
        public var outcome: TurnOutcome
    }

    private enum Phase: Sendable {
        case running
        /// Stop requested; the end of the model call follows.
        case stopping
        case ended
    }

    private var phase = Phase.running
    /// UTF-8 bytes of the model's text that were released.
    private var releasedBytes = 0
    /// UTF-8 bytes that were released before the model's text (CONTRACT §4). They do not count as an answer.
    private let openingBytes: Int
    /// The providers' side of the call.
    public private(set) var calls = CallTally()
    /// The answer when every model fails before the first token and the user is in acute danger (CONTRACT §4).
    private let safetyText: [UInt8]?
    /// Whether a fixed text is the answer when the model gives none.
    public var hasSafetyText: Bool { safetyText != nil }

    /// `safetyText`: the UTF-8 fixed answer, where one may take the model's place. `openingBytes`: of the opening that the driver has released.
    public init(safetyText: [UInt8]? = nil, openingBytes: Int = 0) {
        self.safetyText = safetyText
        self.openingBytes = openingBytes
    }

    /// True after an `End` was returned.
    public var isEnded: Bool { phase == .ended }

    /// True after the first text of the model was released.
    public var hasReleased: Bool { releasedBytes > 0 }

    /// True between a stop request and the end.
    public var isStopping: Bool { phase == .stopping }

    /// True while the model's text is released. Text after a stop is dropped, but counts in the usage. Text after the end is possible,
    /// because cancellation races with the provider, and is dropped too.
    public var isReleasing: Bool { phase == .running }

    /// The driver appended this many bytes of the model's text to the answer. Only while `isReleasing`.
    public mutating func released(_ bytes: Int) {
        releasedBytes += bytes
    }

    /// A provider accepted the call. Ignored after the end.
    public mutating func accepted(by name: ModelName) {
        if !isEnded { calls.accepted(by: name) }
    }

    /// Requests of the call have left whose answers are not used. Ignored after the end.
    public mutating func called(_ others: [UnusedCall]) {
        if !isEnded { calls.called(others) }
    }

    /// The provider reported its usage so far, which replaces earlier reports. Ignored after the end.
    public mutating func reported(_ latest: TokenUsage) {
        if !isEnded { calls.reported(latest) }
    }

    /// The provider has sent so much reasoning so far. Ignored after the end.
    public mutating func reasoned(_ bytes: Int) {
        if !isEnded { calls.reasoned(bytes) }
    }

    /// The model call ended. nil when it had ended before.
    public mutating func ended(_ end: ModelEnd) -> End? {
        guard !isEnded else { return nil }
        let wasStopping = isStopping
        phase = .ended
        return wasStopping ? self.end(.stopped, .stopped) : finish(end)
    }

    /// The user stopped the turn or deleted the conversation. Returns true when the driver must cancel the model call, whose end follows;
    /// false when repeated or after the end, with which it may race.
    public mutating func stopRequested() -> Bool {
        guard phase == .running else { return false }
        phase = .stopping
        return true
    }

    private func finish(_ modelEnd: ModelEnd) -> End {
        let hasText = releasedBytes > 0
        switch modelEnd {
        case .stop where hasText: return end(.complete, .stop)
        // The answer is whole, and clients know no other word for that.
        case .unknown where hasText: return end(.complete, .stop)
        case .length where hasText: return end(.complete, .length)
        case .filtered where hasText: return end(.complete, .safety)
        case .failed(let fault) where hasText && fault.kind == .tooLong: return end(.complete, .length, fault)
        case .failed(let fault) where hasText: return end(.interrupted, nil, fault)
        case .cancelled where hasText: return end(.interrupted, nil, ModelFault(kind: .cut, detail: "cancelled"))
        case .stop, .length, .filtered, .unknown, .failed, .cancelled:
            if let safetyText { return end(.complete, .safety, modelEnd.fault, appending: safetyText) }
            return end(.failed, nil, modelEnd.fault)
        }
    }

    private func end(
        _ status: TurnStatus, _ reason: FinishReason?, _ fault: ModelFault? = nil, appending textToAppend: [UInt8] = []
    ) -> End {
        let (answeredBy, usage, unusedTextBytes, reasoningBytes, unusedCalls) = calls.ended
        var outcome = TurnOutcome(
            status: status, finishReason: reason, fault: fault, answeredBy: answeredBy, usage: usage,
            releasedBytes: openingBytes + releasedBytes + textToAppend.count)
        outcome.hasFixedText = !textToAppend.isEmpty
        outcome.modelBytes = releasedBytes
        outcome.withheldBytes = max(0, unusedTextBytes - releasedBytes)
        outcome.reasoningBytes = reasoningBytes
        outcome.unusedCalls = unusedCalls
        return End(textToAppend: textToAppend, outcome: outcome)
    }
}

extension ModelEnd {
    /// The fault to report when the model ended without text.
    fileprivate var fault: ModelFault {
        if case .failed(let fault) = self { fault } else { ModelFault(kind: .cut, detail: "ended without text") }
    }
}

/// How a turn's model call ended. The finalizer prices it and makes the `TurnReceipt`.
public struct TurnOutcome: Sendable, Equatable {
    public var status: TurnStatus
    /// nil when the stream ends with `error`.
    public var finishReason: FinishReason?
    /// The failure of the model call, for the log.
    public var fault: ModelFault?
    /// The model that accepted the call. nil: no provider can have billed anything.
    public var answeredBy: ModelName?
    /// As reported by the provider.
    public var usage: TokenUsage
    /// The calls beside the one that `answeredBy` accepted.
    public var unusedCalls: [UnusedCall] = []
    /// UTF-8 length of the released answer.
    public var releasedBytes: Int
    /// The part of it that is the model's, at its end unless the fixed text is.
    public var modelBytes = 0
    /// Whether the fixed text is the answer.
    public var hasFixedText = false
    /// The kinds of the sentences that the output guard replaced.
    public var replaced: [OutputRules.Kind] = []
    /// UTF-8 bytes of the model that were not released. They are billed.
    public var withheldBytes = 0
    /// UTF-8 bytes of the model's reasoning. They are billed.
    public var reasoningBytes = 0

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
