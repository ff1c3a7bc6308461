/// How a turn ended, as the `messages.status` and `turns.status` columns say it.
public enum TurnStatus: String, Sendable, CaseIterable {
    /// Still running.
    case running
    /// The model ended by itself (`stop` or `length`), or the fixed safety text was served.
    case complete
    /// Stopped by the user; what was said is kept.
    case stopped
    /// Cut after the first token: provider fault, time limit, crash. What was said is kept.
    case interrupted
    /// Ended without any text; the same POST tries again.
    case failed
}

/// The `finish_reason` of a `done` event.
public enum FinishReason: String, Sendable {
    case stop, length, stopped, safety
}

/// Who says how a turn ended. The owner's word replaces a reaper's; a reaper's replaces nothing.
public enum Settler: String, Sendable {
    /// The instance that ran it.
    case owner
    /// Another instance, or a later life of the same, that found its owner dead: the bill is an estimate.
    case reaper
}

/// What `finish_turn` writes in one transaction: assistant message, usage, cost, turn state.
public struct TurnReceipt: Sendable, Equatable {
    public var userID: UserID
    public var identity: TurnIdentity
    /// Anything but `running`.
    public var status: TurnStatus
    /// Set when the status is `complete` or `stopped`.
    public var finishReason: FinishReason?
    /// Released text; empty when failed.
    public var content: String
    /// nil when no provider accepted the call, so nothing was billed.
    public var bill: TurnBill?
    public var domain: DomainDecision
    /// The tier after fusion with the stored state.
    public var risk: RiskAssessment
    /// Where its user was taken to be: the card is the same whenever the turn is told again.
    public var country: String?
    public var locale: String?
    /// The code of the `error` event, when it ended with one.
    public var errorCode: String?
    /// Milliseconds from the request's arrival to the first released byte; nil when there was none.
    public var timeToFirstTokenMilliseconds: Int?
    /// Milliseconds from the request's arrival to the end.
    public var durationMilliseconds: Int
    /// Who says so.
    public var settledBy: Settler

    /// Memberwise.
    public init(
        userID: UserID, identity: TurnIdentity, status: TurnStatus, finishReason: FinishReason?, content: String, bill: TurnBill?,
        domain: DomainDecision, risk: RiskAssessment, country: String? = nil, locale: String? = nil, errorCode: String?,
        timeToFirstTokenMilliseconds: Int?, durationMilliseconds: Int,
        settledBy: Settler = .owner
    ) {
        self.userID = userID
        self.identity = identity
        self.status = status
        self.finishReason = finishReason
        self.content = content
        self.bill = bill
        self.domain = domain
        self.risk = risk
        self.country = country
        self.locale = locale
        self.errorCode = errorCode
        self.timeToFirstTokenMilliseconds = timeToFirstTokenMilliseconds
        self.durationMilliseconds = durationMilliseconds
        self.settledBy = settledBy
    }
}
