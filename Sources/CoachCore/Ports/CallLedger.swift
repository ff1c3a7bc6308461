/// Port to record model calls in the ledger before their requests leave. `CoachStore` implements it on PostgreSQL. The first call of a turn's attempt
/// is recorded by `begin_turn`; all of them end with the receipt of their turn or summary.
public struct CallLedger: Sendable {
    /// How long a request waits for its record: many times what the statement takes, and so little that a rejection is still reported in time
    /// (CONTRACT §4).
    public static let patience = Duration.milliseconds(250)

    /// Records a call and returns its number. Idempotent when the call has one. Throws `StoreFault`.
    public var record: @Sendable (UserID, PendingCall) async throws -> Int

    public init(record: @escaping @Sendable (UserID, PendingCall) async throws -> Int) { self.record = record }
}

/// A model call whose request has not left.
public struct PendingCall: Sendable, Equatable {
    public var turnID: TurnID
    public var attempt: Int
    /// Its number among the calls of the attempt; nil: the next one.
    public var number: Int?
    public var purpose: CallPurpose
    /// Of its row in the ledger (UTC); nil: that of the turn's attempt.
    public var day: CalendarDay?

    public init(turnID: TurnID, attempt: Int, number: Int?, purpose: CallPurpose, day: CalendarDay? = nil) {
        self.turnID = turnID
        self.attempt = attempt
        self.number = number
        self.purpose = purpose
        self.day = day
    }
}

/// What a model is called for. Raw values but `answer`, which stands for the purpose of the turn, are those of the column `usage_logs.purpose`.
public enum CallPurpose: String, Sendable, CaseIterable {
    case answer, judge, summary
}

/// A model call of a turn or summary beside the one that answered.
public struct BilledCall: Sendable, Equatable {
    /// Of an attempt's first call: the one of its answer, or the last one.
    public static let answerNumber = 1
    public static let judgeNumber = 2

    /// Its number among the calls of the attempt.
    public var number: Int
    public var purpose: CallPurpose
    /// nil: it is not known which of several it is.
    public var name: ModelName?
    /// nil when the provider did not accept the call.
    public var bill: TurnBill?

    public init(number: Int, purpose: CallPurpose = .answer, name: ModelName?, bill: TurnBill?) {
        self.number = number
        self.purpose = purpose
        self.name = name
        self.bill = bill
    }
}
