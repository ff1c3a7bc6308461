/// State of a turn. Raw values are those of the columns `messages.status` and `turns.status`.
public enum TurnStatus: String, Sendable, CaseIterable {
    case running
    /// The model ended normally (`stop` or `length`), or the answer is the fixed safety text.
    case complete
    /// Stopped by the user; the text is kept.
    case stopped
    /// Cut after the first token by a provider fault, a time limit or a crash; the text is kept.
    case interrupted
    /// Ended without text. A repeated request tries again.
    case failed
}

/// Why an answer ended. Raw values are those of the column `turns.finish_reason`, and of a `done` event (CONTRACT §4).
public enum FinishReason: String, Sendable, CaseIterable {
    case stop, length, stopped, safety
}

/// Origin of a receipt. The owner's receipt replaces an orphan collector's estimate, never the reverse.
public enum Finalizer: String, Sendable, CaseIterable {
    /// The instance that ran the turn.
    case owner
    /// An instance or restarted process that ended the turn of an expired owner; the bill is an estimate.
    case recovery
}

/// The input of `finish_turn`, which writes it in one transaction: assistant message, usage, cost, turn state.
public struct TurnReceipt: Sendable, Equatable {
    public var userID: UserID
    public var identity: TurnIdentity
    /// Never `running`.
    public var status: TurnStatus
    /// Set when the status is `complete` or `stopped`.
    public var finishReason: FinishReason?
    /// The released text; empty when failed.
    public var content: String
    /// nil when no provider accepted the call.
    public var bill: TurnBill?
    public var domain: DomainDecision
    /// After fusion with the stored level. nil: the turn ended before that, and that of its message stays.
    public var risk: RiskAssessment?
    /// Stored so that a replay shows the same safety card.
    public var region: Region
    /// The code of the `error` event; nil when the stream ended with `done`.
    public var errorCode: String?
    /// From the request's arrival to the first byte released after the fixed opening of a high tier; nil without one.
    public var timeToFirstTokenMilliseconds: Int?
    /// From the request's arrival to the end.
    public var durationMilliseconds: Int
    /// `TurnFacts.summaryTokens`.
    public var summaryTokens: Int?
    public var finalizedBy: Finalizer
    /// nil without danger and without replaced sentences.
    public var crisis: CrisisRecord?
    /// The model calls beside the one of `bill`, the judge's included. nil: none was made; empty: recorded ones were not made.
    public var otherCalls: [BilledCall]?

    public init(
        userID: UserID, identity: TurnIdentity, status: TurnStatus, finishReason: FinishReason?, content: String, bill: TurnBill?,
        domain: DomainDecision, risk: RiskAssessment?, region: Region = .unknown, errorCode: String?,
        timeToFirstTokenMilliseconds: Int?, durationMilliseconds: Int, summaryTokens: Int? = nil,
        finalizedBy: Finalizer = .owner, crisis: CrisisRecord? = nil, otherCalls: [BilledCall]? = nil
    ) {
        self.userID = userID
        self.identity = identity
        self.status = status
        self.finishReason = finishReason
        self.content = content
        self.bill = bill
        self.domain = domain
        self.risk = risk
        self.region = region
        self.errorCode = errorCode
        self.timeToFirstTokenMilliseconds = timeToFirstTokenMilliseconds
        self.durationMilliseconds = durationMilliseconds
        self.summaryTokens = summaryTokens
        self.finalizedBy = finalizedBy
        self.crisis = crisis
        self.otherCalls = otherCalls
    }
}

extension TurnReceipt {
    /// What is written, the first that is accepted, when the database rejects the receipt for good: the attempt failed, and nothing of it is
    /// kept or billed. The second has no risk and no crisis event, which may be what the database rejects: the stored safety state stays as
    /// it was.
    public var failures: [TurnReceipt] { [failure(risk: risk, crisis: crisis), failure(risk: nil, crisis: nil)] }

    private func failure(risk: RiskAssessment?, crisis: CrisisRecord?) -> TurnReceipt {
        TurnReceipt(
            userID: userID, identity: identity, status: .failed, finishReason: nil, content: "", bill: nil,
            domain: .undecided, risk: risk, errorCode: "SYS_5000",
            timeToFirstTokenMilliseconds: nil, durationMilliseconds: 0, finalizedBy: .recovery, crisis: crisis)
    }
}
