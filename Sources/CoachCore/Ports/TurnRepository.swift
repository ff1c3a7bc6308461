/// Port to begin and finish turns in the database. `CoachStore` implements it on PostgreSQL.
public struct TurnRepository: Sendable {
    /// Calls `begin_turn` in one round trip: checks idempotency, entitlement and limits, reserves budget, saves the user's message, and
    /// loads persona, profile, summary, history and safety state. Throws `StoreFault`, or `CancellationError`: then it is unknown whether
    /// the turn began, and only a request with an idempotency key can be repeated without saving its message twice.
    public var begin: @Sendable (Caller, TurnRequest, MessageAssessment) async throws -> BeginTurnResult
    /// The result of `begin` for a repeated request that needs no new attempt; nil when it needs one. Writes nothing.
    public var repeated: @Sendable (Caller, TurnRequest) async throws -> BeginTurnResult?
    /// Begins a new turn on the user message of an ended one. The old answer is kept as superseded and is no longer sent to the model.
    /// Rejects with `notFound` all but the latest turn of a conversation's latest message, and with `turnInProgress` while a turn runs there.
    /// With an idempotency key a repeated retry gets the turn that it began. Throws as `begin`.
    public var retry: @Sendable (Caller, RetryRequest) async throws -> BeginTurnResult
    /// The result of `retry` for a repeated one that needs no new attempt; nil when it needs one. Writes nothing.
    public var repeatedRetry: @Sendable (Caller, RetryRequest) async throws -> BeginTurnResult?
    /// Replaces the risk of a running attempt's message by a higher one that was found after `begin`, and raises the user's safety state. No effect
    /// on an attempt that does not run. Throws `StoreFault`.
    public var raiseRisk: @Sendable (UserID, TurnIdentity, RiskAssessment) async throws -> Void
    /// Calls `finish_turn`: writes assistant message, usage, cost, budget and turn state in one transaction. Idempotent: may be repeated
    /// until it succeeds, from any process. Throws `StoreFault`.
    public var finish: @Sendable (TurnReceipt) async throws -> ReceiptOutcome
    /// Ends a running attempt as failed without a receipt: the last resort when `finish` rejects every one, because its conversation accepts no
    /// message while it runs. No effect on an attempt that does not run. Throws `StoreFault`.
    public var abandon: @Sendable (UserID, TurnIdentity) async throws -> Void

    public init(
        begin: @escaping @Sendable (Caller, TurnRequest, MessageAssessment) async throws -> BeginTurnResult,
        repeated: @escaping @Sendable (Caller, TurnRequest) async throws -> BeginTurnResult?,
        retry: @escaping @Sendable (Caller, RetryRequest) async throws -> BeginTurnResult,
        repeatedRetry: @escaping @Sendable (Caller, RetryRequest) async throws -> BeginTurnResult?,
        raiseRisk: @escaping @Sendable (UserID, TurnIdentity, RiskAssessment) async throws -> Void,
        finish: @escaping @Sendable (TurnReceipt) async throws -> ReceiptOutcome,
        abandon: @escaping @Sendable (UserID, TurnIdentity) async throws -> Void
    ) {
        self.begin = begin
        self.repeated = repeated
        self.retry = retry
        self.repeatedRetry = repeatedRetry
        self.raiseRisk = raiseRisk
        self.finish = finish
        self.abandon = abandon
    }
}

/// The result of `finish`. Raw values are those of `finish_turn`.
public enum ReceiptOutcome: String, Sendable, CaseIterable {
    /// The receipt was written.
    case finalized
    /// The turn was finished before; nothing changed.
    case alreadyFinalized = "already_finalized"
    /// There is a later attempt of the turn, or its user has deleted it; only usage and cost were written.
    case superseded
    /// The turn does not exist, because its user was erased. Retrying does not help.
    case unknownTurn = "unknown_turn"
}

/// The result of `begin` and `retry`.
public enum BeginTurnResult: Sendable, Equatable {
    /// A new turn, or a new attempt of a turn that failed without text. The caller calls the model with this message.
    case begun(TurnContext, message: String, RateLimit)
    /// A turn with the same idempotency key exists. The caller subscribes to it or replays it; no model call, no charge.
    case known(KnownTurn, RateLimit)
    /// The request was rejected; only the user's row and the rate counter were written.
    case rejected(Rejection, RateLimit)

    /// The state of the caller's request limit.
    public var rate: RateLimit {
        switch self {
        case .begun(_, _, let rate), .known(_, let rate), .rejected(_, let rate): rate
        }
    }
}

/// A request to answer the user message of an ended turn again.
public struct RetryRequest: Sendable, Equatable {
    public var turnID: TurnID
    /// `Idempotency-Key`: 1–128 printable ASCII characters, unique among the keys of the user's messages and retries.
    public var idempotencyKey: String?

    public init(of turnID: TurnID, idempotencyKey: String? = nil) {
        self.turnID = turnID
        self.idempotencyKey = idempotencyKey
    }
}
