/// What is known of a turn from its first event on: enough to greet every follower with the same `start` and `safety`.
public struct TurnFacts: Sendable, Equatable {
    public var userID: UserID
    public var identity: TurnIdentity
    public var domain: DomainDecision
    public var personaID: PersonaID?
    /// First choice of the route, or who answered when the turn is replayed.
    public var model: ModelName
    /// After fusion with the stored safety state.
    public var risk: RiskAssessment
    /// The place for crisis resources: ISO 3166-1 alpha-2.
    public var country: String?
    /// BCP 47.
    public var locale: String?

    /// Memberwise.
    public init(
        userID: UserID, identity: TurnIdentity, domain: DomainDecision, personaID: PersonaID?, model: ModelName, risk: RiskAssessment,
        country: String?, locale: String?
    ) {
        self.userID = userID
        self.identity = identity
        self.domain = domain
        self.personaID = personaID
        self.model = model
        self.risk = risk
        self.country = country
        self.locale = locale
    }
}

/// The end that every follower is told, once it is saved.
public struct TurnEnding: Sendable, Equatable {
    public var status: TurnStatus
    /// nil: the stream ends with `error`.
    public var finishReason: FinishReason?
    /// nil: nothing was billed, no `usage` event.
    public var bill: TurnBill?
    /// False while neither the ledger nor the disk holds the receipt.
    public var isSaved: Bool

    /// Memberwise.
    public init(status: TurnStatus, finishReason: FinishReason?, bill: TurnBill?, isSaved: Bool = true) {
        self.isSaved = isSaved
        self.status = status
        self.finishReason = finishReason
        self.bill = bill
    }

    /// What was said can be saved nowhere at the moment.
    public static let unsaved = TurnEnding(status: .interrupted, finishReason: nil, bill: nil, isSaved: false)

    /// An attempt that left no text: the same request begins the next one.
    public static let withoutText = TurnEnding(status: .failed, finishReason: nil, bill: nil)
}
