/// Decides what the events of a model call mean for the turn: which text is released, and how the turn ends.
/// Pure; the driver (`TokenRelay.LiveTurn`) appends, cancels and wakes.
public struct TurnMachine: Sendable {
    /// What the driver does next.
    public enum Action: Sendable, Equatable {
        /// Append these bytes to the released answer.
        case append([UInt8])
        /// End the model call; its `.ended` follows.
        case cancelGeneration
        /// The turn is over. Comes exactly once.
        case end(TurnOutcome)
    }

    /// What is true while the turn runs; `ended` forgets it.
    private struct Progress: Sendable {
        var releasedBytes = 0
        var answeredBy: ModelName?
        var usage = TokenUsage()
        var stopRequested = false
    }

    private enum State: Sendable {
        case running(Progress)
        case ended
    }

    private var state: State = .running(Progress())
    /// Served when every model fails before the first token and the user is in acute danger (CONTRACT §4).
    private let safetyText: [UInt8]?

    /// `safetyText`: the fixed text of tier ≥ 3; nil below.
    public init(safetyText: [UInt8]? = nil) { self.safetyText = safetyText }

    /// True once `.end` was returned.
    public var isEnded: Bool {
        if case .ended = state { true } else { false }
    }

    /// Who accepted the call so far, while it runs.
    public var answeredBy: ModelName? {
        if case .running(let progress) = state { progress.answeredBy } else { nil }
    }

    /// True between a stop and the end.
    public var isStopping: Bool {
        if case .running(let progress) = state { progress.stopRequested } else { false }
    }

    /// The model said something. After the end, events are ignored: a provider may have been faster than its cancellation.
    public mutating func received(_ event: ModelEvent) -> [Action] {
        guard case .running(var progress) = state else { return [] }
        defer { if case .running = state { state = .running(progress) } }
        switch event {
        case .accepted(let name):
            progress.answeredBy = name
            return []
        case .usage(let usage):
            progress.usage = usage
            return []
        case .text(let bytes):
            // U+0000 is dropped: no PostgreSQL text column takes it (CONTRACT §4).
            let text = bytes.contains(0) ? bytes.filter { $0 != 0 } : bytes
            // What arrives after a stop was not released, so it is dropped; it is still counted in the usage.
            guard !progress.stopRequested, !text.isEmpty else { return [] }
            progress.releasedBytes += text.count
            return [.append(text)]
        case .ended(let end):
            state = .ended
            return finish(progress, end)
        }
    }

    /// The user, or a deleted conversation, ends the turn. Idempotent; harmless after the end, which it may race with.
    public mutating func stopRequested() -> [Action] {
        guard case .running(var progress) = state, !progress.stopRequested else { return [] }
        progress.stopRequested = true
        state = .running(progress)
        return [.cancelGeneration]
    }

    private func finish(_ progress: Progress, _ end: ModelEnd) -> [Action] {
        func outcome(_ status: TurnStatus, _ reason: FinishReason?, _ fault: ModelFault? = nil, extraBytes: Int = 0) -> Action {
            .end(
                TurnOutcome(
                    status: status, finishReason: reason, fault: fault, answeredBy: progress.answeredBy, usage: progress.usage,
                    releasedBytes: progress.releasedBytes + extraBytes))
        }
        if progress.stopRequested { return [outcome(.stopped, .stopped)] }
        let spoke = progress.releasedBytes > 0
        switch end {
        case .stop where spoke: return [outcome(.complete, .stop)]
        case .length where spoke: return [outcome(.complete, .length)]
        case .filtered where spoke: return [outcome(.complete, .safety)]
        case .failed(let fault) where spoke && fault.kind == .tooLong: return [outcome(.complete, .length, fault)]
        case .failed(let fault) where spoke: return [outcome(.interrupted, nil, fault)]
        case .cancelled where spoke: return [outcome(.interrupted, nil, ModelFault(kind: .cut, detail: "cancelled"))]
        case .stop, .length, .filtered, .failed, .cancelled:
            if let safetyText {
                return [.append(safetyText), outcome(.complete, .safety, end.fault, extraBytes: safetyText.count)]
            }
            return [outcome(.failed, nil, end.fault)]
        }
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
