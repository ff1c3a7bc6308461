/// Port to record model calls in the ledger before their requests leave. `CoachStore` implements it on PostgreSQL. The first call of a turn's attempt
/// is recorded by `begin_turn`; all of them end with the receipt of their turn or summary.
public struct CallLedger: Sendable {
    /// How long a request waits for its record in the database: many times the usual time of the statement.
    public static let timeout = Duration.milliseconds(250)
    /// How long it waits for the record on disk, if that of the database failed. Both times together still allow a rejection in time (CONTRACT §4).
    public static let diskTimeout = Duration.milliseconds(250)

    /// Records a call; idempotent. False when its turn has been removed, so that there is nothing to record. Throws `StoreFault`.
    public var record: @Sendable (PendingCall) async throws -> Bool

    public init(record: @escaping @Sendable (PendingCall) async throws -> Bool) { self.record = record }
}

/// A model call whose request has not left.
public struct PendingCall: Sendable, Equatable {
    public var userID: UserID
    public var turnID: TurnID
    public var attempt: Int
    /// Its number among the calls of the attempt.
    public var number: Int
    public var purpose: CallPurpose
    /// The day of its row in the ledger (UTC).
    public var day: CalendarDay

    public init(userID: UserID, turnID: TurnID, attempt: Int, number: Int, purpose: CallPurpose, day: CalendarDay) {
        self.userID = userID
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
    /// The number of an attempt's first call: the one of its answer, or the last one.
    public static let answerNumber = 1
    public static let judgeNumber = 2

    /// Its number among the calls of the attempt.
    public var number: Int
    public var purpose: CallPurpose
    /// nil when it is not known which of several models it was.
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
