/// Properties of a turn that are fixed before the model call. Every subscriber's `start` and `safety` events are made from them.
public struct TurnFacts: Sendable, Equatable {
    public var userID: UserID
    public var identity: TurnIdentity
    /// UTC day on which the attempt began, on the database's clock: prices are those of this day.
    public var day: CalendarDay
    public var domain: DomainDecision
    public var personaID: PersonaID?
    /// First choice of the route; for a replay the model that answered.
    public var model: ModelName
    /// After fusion with the stored level.
    public var risk: RiskAssessment
    /// The highest level over all personas before the message; of a turn that was loaded, at that time. An error has crisis resources when it is above `calm`.
    public var storedLevel = SafetyLevel.calm
    /// Whether a crash may have lost text of an earlier attempt that a client has read.
    public var hasLostAttempt = false
    /// Selects crisis resources.
    public var region: Region
    /// The notice of talking to a machine in the `start` event.
    public var disclosure: DisclosureKind?
    /// The history's limit when earlier messages no longer fit into it and the conversation is to be summarised; else nil.
    public var summaryTokens: Int?
    /// Unix seconds at which the attempt began; nil when it is not known.
    public var startedAt: Int?
    /// The model calls before that of the answer, such as the judge's.
    public var earlierCalls: [BilledCall] = []

    public init(
        userID: UserID, identity: TurnIdentity, day: CalendarDay, domain: DomainDecision, personaID: PersonaID?, model: ModelName,
        risk: RiskAssessment, region: Region, disclosure: DisclosureKind? = nil, summaryTokens: Int? = nil, startedAt: Int? = nil
    ) {
        self.userID = userID
        self.identity = identity
        self.day = day
        self.domain = domain
        self.personaID = personaID
        self.model = model
        self.risk = risk
        self.region = region
        self.disclosure = disclosure
        self.summaryTokens = summaryTokens
        self.startedAt = startedAt
    }
}

/// The end of a turn as subscribers get it, after the receipt was saved or saving failed.
public struct TurnEnding: Sendable, Equatable {
    public var status: TurnStatus
    /// nil when the stream ends with `error`.
    public var finishReason: FinishReason?
    /// nil when nothing was billed, or `isBillKnown` is false.
    public var bill: TurnBill?
    /// False on an instance that only followed a turn which it cannot read any more.
    public var isBillKnown: Bool
    /// Why an attempt failed without text, an error code of CONTRACT §2; nil when no provider could answer.
    public var errorCode: String?
    /// Seconds after which a repeated request may be answered, as the providers say; nil: not known.
    public var retryAfter: Int?
    /// False while the receipt is neither in the database nor on disk.
    public var isSaved: Bool
    /// Whether the turn's instance crashed: a client may have read more than was saved.
    public var isByCrash: Bool

    public init(
        status: TurnStatus, finishReason: FinishReason?, bill: TurnBill?, isBillKnown: Bool = true, errorCode: String? = nil,
        retryAfter: Int? = nil, isSaved: Bool = true, isByCrash: Bool = false
    ) {
        self.isByCrash = isByCrash
        self.isBillKnown = isBillKnown
        self.errorCode = errorCode
        self.retryAfter = retryAfter
        self.isSaved = isSaved
        self.status = status
        self.finishReason = finishReason
        self.bill = bill
    }

    /// The database rejects the receipt for good: the text is not kept, and the same request begins the next attempt.
    public static let rejected = TurnEnding(status: .failed, finishReason: nil, bill: nil, isSaved: false)

    /// The text can be saved nowhere at the moment.
    public static func unsaved(_ bill: TurnBill?) -> TurnEnding {
        TurnEnding(status: .interrupted, finishReason: nil, bill: bill, isSaved: false)
    }

    /// The end of a turn of another instance whose conversation was deleted meanwhile, which stops it.
    public static let deleted = TurnEnding(status: .stopped, finishReason: .stopped, bill: nil, isBillKnown: false)

    /// The end of a turn that no longer runs.
    public init(_ known: KnownTurn) {
        self.init(
            status: known.status, finishReason: known.finishReason, bill: known.bill,
            errorCode: known.status == .failed ? known.errorCode : nil, isByCrash: known.endedByCrash)
    }

    /// An attempt that ended without text. A repeated request begins the next attempt.
    public static let withoutText = TurnEnding(status: .failed, finishReason: nil, bill: nil)

    /// The tokens of the bill: zeros when nothing was billed, nil when it is not known.
    public var usage: TokenUsage {
        bill?.usage ?? (isBillKnown ? TokenUsage(input: 0, cachedInput: 0, cacheWrite: 0, output: 0, reasoning: 0) : TokenUsage())
    }
}
