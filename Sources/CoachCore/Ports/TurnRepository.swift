/// Port to begin and finish turns in the database. `CoachStore` implements it on PostgreSQL.
public struct TurnRepository: Sendable {
    /// Calls `begin_turn` in one round trip: checks idempotency, entitlement and limits, reserves budget, saves the user's message, and
    /// loads persona, profile, summary, history and safety state. Throws `StoreFault`.
    public var begin: @Sendable (Caller, TurnRequest, MessageAssessment) async throws -> BeginTurnResult
    /// The result of `begin` for a repeated request that needs no new attempt; nil when it needs one. Writes nothing.
    public var repeated: @Sendable (Caller, TurnRequest) async throws -> BeginTurnResult?
    /// Calls `finish_turn`: writes assistant message, usage, cost, budget and turn state in one transaction. Idempotent. Throws
    /// `StoreFault`.
    public var finish: @Sendable (TurnReceipt) async throws -> ReceiptOutcome

    public init(
        begin: @escaping @Sendable (Caller, TurnRequest, MessageAssessment) async throws -> BeginTurnResult,
        repeated: @escaping @Sendable (Caller, TurnRequest) async throws -> BeginTurnResult? = { _, _ in nil },
        finish: @escaping @Sendable (TurnReceipt) async throws -> ReceiptOutcome
    ) {
        self.begin = begin
        self.repeated = repeated
        self.finish = finish
    }
}

/// The result of `finish`. Raw values are those of `finish_turn`.
public enum ReceiptOutcome: String, Sendable, CaseIterable {
    /// The receipt was written.
    case settled = "finalized"
    /// The turn was finished before; nothing changed.
    case alreadySettled = "already_finalized"
    /// There is a later attempt of the turn; only usage and cost were written.
    case superseded
    /// The turn does not exist, because its user was erased. Retrying does not help.
    case unknownTurn = "unknown_turn"
}

/// The result of `begin`.
public enum BeginTurnResult: Sendable, Equatable {
    /// A new turn, or a new attempt of a turn that failed without text. The caller calls the model.
    case begun(TurnContext, RateLimit)
    /// A turn with the same idempotency key exists. The caller subscribes to it or replays it; no model call, no charge.
    case known(KnownTurn, RateLimit)
    /// The request was rejected; only the user's row and the rate counter were written.
    case refused(Rejection, RateLimit)
}

/// An existing turn, with all that a replay of its stream needs.
public struct KnownTurn: Sendable, Equatable {
    public var userID: UserID
    public var identity: TurnIdentity
    /// UTC day on which the current attempt began, on the database's clock.
    public var day: CalendarDay
    public var status: TurnStatus
    public var finishReason: FinishReason?
    public var errorCode: String?
    /// The saved text; empty while the turn runs.
    public var content: String
    public var bill: TurnBill?
    public var domain: DomainDecision
    public var personaID: PersonaID?
    public var risk: RiskAssessment
    public var region: Region

    public init(
        userID: UserID, identity: TurnIdentity, day: CalendarDay, status: TurnStatus, finishReason: FinishReason?, errorCode: String?,
        content: String,
        bill: TurnBill?, domain: DomainDecision, personaID: PersonaID?, risk: RiskAssessment, region: Region
    ) {
        self.userID = userID
        self.identity = identity
        self.day = day
        self.status = status
        self.finishReason = finishReason
        self.errorCode = errorCode
        self.content = content
        self.bill = bill
        self.domain = domain
        self.personaID = personaID
        self.risk = risk
        self.region = region
    }
}

/// A request that the database rejected. The server maps the reason to an error code (CONTRACT §2).
public struct Rejection: Sendable, Equatable, Error {
    /// Raw values are those of the SQL functions.
    public enum Reason: String, Sendable, CaseIterable {
        case notFound = "not_found"
        case unknownPersona = "unknown_persona"
        case turnInProgress = "turn_in_progress"
        case idempotencyMismatch = "idempotency_mismatch"
        case quotaExhausted = "quota_exhausted"
        case budgetExhausted = "budget_exhausted"
        case tooManyTurns = "too_many_turns"
        case rateLimited = "rate_limited"
        case subscriptionRequired = "subscription_required"
        case consentMissing = "consent_missing"
        case suspended
    }
    public var reason: Reason
    /// Seconds until a retry can succeed; nil when a retry does not help.
    public var retryAfter: Int?
    /// The limit that was reached, for `details.limit`.
    public var limit: Int?
    /// The user's highest stored level over all personas. Above `.calm` the error response includes crisis resources.
    public var safetyLevel: SafetyLevel
    /// From the user's profile.
    public var region: Region

    public init(
        reason: Reason, retryAfter: Int? = nil, limit: Int? = nil, safetyLevel: SafetyLevel = .calm, region: Region = .unknown
    ) {
        self.reason = reason
        self.retryAfter = retryAfter
        self.limit = limit
        self.safetyLevel = safetyLevel
        self.region = region
    }
}

/// State of a user's request rate limit, exact across all instances on one database.
public struct RateLimit: Sendable, Equatable {
    /// Requests per window.
    public var limit: Int
    /// Requests left in this window.
    public var remaining: Int
    /// End of the window in Unix seconds.
    public var resetAt: Int

    public init(limit: Int, remaining: Int, resetAt: Int) {
        self.limit = limit
        self.remaining = remaining
        self.resetAt = resetAt
    }
}

/// An error of the database, thrown by the ports to it.
public enum StoreFault: Error, Sendable, Equatable {
    /// The database refuses connections, does not answer, or the connection broke: `EXT_4003`. `retryAfter` in seconds.
    case unavailable(retryAfter: Int)
    /// A programming or schema error. The text is for the log and has no user data.
    case unexpected(String)
}
