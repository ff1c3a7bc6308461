/// Where turns are begun and finished durably. `CoachStore` implements it on PostgreSQL.
public struct TurnLedger: Sendable {
    /// One round trip: idempotency, entitlement, budget reservation, persona, profile, summary, history, safety state, and the
    /// user's message saved. Throws `StoreFault`.
    public var begin: @Sendable (Caller, TurnRequest, MessageAssessment) async throws -> TurnOpening
    /// What `begin` would answer to a request that was made before and needs no turn of its own; nil when it needs one. Writes nothing.
    public var repeated: @Sendable (Caller, TurnRequest) async throws -> TurnOpening?
    /// One transaction: assistant message, usage, cost, budget, turn state. Safe to repeat. Throws `StoreFault`.
    public var finish: @Sendable (TurnReceipt) async throws -> ReceiptOutcome

    /// Memberwise.
    public init(
        begin: @escaping @Sendable (Caller, TurnRequest, MessageAssessment) async throws -> TurnOpening,
        repeated: @escaping @Sendable (Caller, TurnRequest) async throws -> TurnOpening? = { _, _ in nil },
        finish: @escaping @Sendable (TurnReceipt) async throws -> ReceiptOutcome
    ) {
        self.begin = begin
        self.repeated = repeated
        self.finish = finish
    }
}

/// What became of a receipt.
public enum ReceiptOutcome: String, Sendable {
    /// Written now.
    case settled
    /// It had been written before; nothing changed.
    case alreadySettled = "already_settled"
    /// A later attempt runs or ended; only the ledger was written.
    case superseded
    /// There is no such turn: its user was erased. Nothing to write, and no use in trying again.
    case unknownTurn = "unknown_turn"
}

/// What `begin` decided.
public enum TurnOpening: Sendable, Equatable {
    /// A new turn, or a new attempt of one that failed without text: call the model.
    case begun(TurnContext, RateLimit)
    /// The same idempotency key was seen before: attach to the running turn, or replay it. No model call, no charge.
    case known(KnownTurn, RateLimit)
    /// Nothing was written (but the user's row and the rate counter).
    case refused(Refusal, RateLimit)
}

/// A turn that already exists, enough of it to tell it again.
public struct KnownTurn: Sendable, Equatable {
    public var userID: UserID
    public var identity: TurnIdentity
    public var status: TurnStatus
    public var finishReason: FinishReason?
    public var errorCode: String?
    /// Saved text; empty while it runs.
    public var content: String
    public var bill: TurnBill?
    public var domain: DomainDecision
    public var personaID: PersonaID?
    public var risk: RiskAssessment
    public var country: String?
    public var locale: String?

    /// Memberwise.
    public init(
        userID: UserID, identity: TurnIdentity, status: TurnStatus, finishReason: FinishReason?, errorCode: String?, content: String,
        bill: TurnBill?, domain: DomainDecision, personaID: PersonaID?, risk: RiskAssessment, country: String?, locale: String?
    ) {
        self.userID = userID
        self.identity = identity
        self.status = status
        self.finishReason = finishReason
        self.errorCode = errorCode
        self.content = content
        self.bill = bill
        self.domain = domain
        self.personaID = personaID
        self.risk = risk
        self.country = country
        self.locale = locale
    }
}

/// Why a turn, or another call, is not carried out. The server maps each to a code of CONTRACT §2.
public struct Refusal: Sendable, Equatable, Error {
    /// The reasons that the database can have.
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
    /// Seconds until it is worth asking again.
    public var retryAfter: Int?
    /// The limit that was hit, for `details.limit`.
    public var limit: Int?
    /// Danger was detected in the message or is stored; the refusal then carries resources.
    public var safetyLevel: SafetyLevel
    /// Where the user's profile says that he is.
    public var country: String?
    public var locale: String?

    /// Memberwise.
    public init(
        reason: Reason, retryAfter: Int? = nil, limit: Int? = nil, safetyLevel: SafetyLevel = .calm, country: String? = nil,
        locale: String? = nil
    ) {
        self.reason = reason
        self.retryAfter = retryAfter
        self.limit = limit
        self.safetyLevel = safetyLevel
        self.country = country
        self.locale = locale
    }
}

/// A user's request budget, exact across all instances on one database.
public struct RateLimit: Sendable, Equatable {
    /// Requests a window.
    public var limit: Int
    /// Left in this window.
    public var remaining: Int
    /// Unix seconds at which the window ends.
    public var resetAt: Int

    /// Memberwise.
    public init(limit: Int, remaining: Int, resetAt: Int) {
        self.limit = limit
        self.remaining = remaining
        self.resetAt = resetAt
    }
}

/// What a port to the database throws when the database is the reason.
public enum StoreFault: Error, Sendable, Equatable {
    /// Refused, gone or hanging: `EXT_4003`, try again after so many seconds.
    case unavailable(retryAfter: Int)
    /// A programming or schema error; the text is for the log and holds no user data.
    case unexpected(String)
}
