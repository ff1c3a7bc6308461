/// An existing turn, with all that a replay of its stream needs.
public struct KnownTurn: Sendable, Equatable {
    public var userID: UserID
    public var identity: TurnIdentity
    /// UTC day on which the current attempt began, on the database's clock.
    public var day: CalendarDay
    /// Unix seconds at which the current attempt began.
    public var startedAt: Int?
    public var status: TurnStatus
    public var finishReason: FinishReason?
    public var errorCode: String?
    /// The saved text; empty while the turn runs.
    public var content: String
    public var bill: TurnBill?
    /// The name of the tier that the user had when the attempt began.
    public var tier: String
    public var domain: DomainDecision
    public var personaID: PersonaID?
    public var risk: RiskAssessment
    public var region: Region
    public var disclosure: DisclosureKind?
    /// False while the turn runs and its owner has not yet stored what it decided: domain, and the risk after fusion with the stored level.
    public var isDecided: Bool
    /// The user's highest level over all personas now.
    public var safetyLevel: SafetyLevel
    /// Whether the turn's instance crashed, so that what was saved may be less than what a client has read.
    public var endedByCrash: Bool
    /// `TurnFacts.hasLostAttempt`.
    public var hasLostAttempt: Bool

    public init(
        userID: UserID, identity: TurnIdentity, day: CalendarDay, startedAt: Int? = nil, status: TurnStatus, finishReason: FinishReason?,
        errorCode: String?,
        content: String,
        bill: TurnBill?, tier: String = "", domain: DomainDecision, personaID: PersonaID?, risk: RiskAssessment, region: Region,
        disclosure: DisclosureKind? = nil, isDecided: Bool = true, safetyLevel: SafetyLevel = .calm, endedByCrash: Bool = false,
        hasLostAttempt: Bool = false
    ) {
        self.userID = userID
        self.identity = identity
        self.day = day
        self.startedAt = startedAt
        self.status = status
        self.finishReason = finishReason
        self.errorCode = errorCode
        self.content = content
        self.bill = bill
        self.tier = tier
        self.domain = domain
        self.personaID = personaID
        self.risk = risk
        self.region = region
        self.disclosure = disclosure
        self.isDecided = isDecided
        self.safetyLevel = safetyLevel
        self.endedByCrash = endedByCrash
        self.hasLostAttempt = hasLostAttempt
    }
}
