/// What the users of one tier may ask for. An absent limit does not limit.
public struct Tier: Sendable, Equatable {
    /// Limits on the turns of one user. Days and months are UTC.
    public struct Budgets: Sendable, Equatable {
        public var tokensPerDay: Int?
        public var tokensPerMonth: Int?
        public var costPerDay: Nanodollars?
        public var costPerMonth: Nanodollars?

        public init(
            tokensPerDay: Int? = nil, tokensPerMonth: Int? = nil, costPerDay: Nanodollars? = nil, costPerMonth: Nanodollars? = nil
        ) {
            self.tokensPerDay = tokensPerDay
            self.tokensPerMonth = tokensPerMonth
            self.costPerDay = costPerDay
            self.costPerMonth = costPerMonth
        }
    }

    /// Earlier messages in a prompt.
    public struct History: Sendable, Equatable {
        /// Estimated.
        public var tokens: Int
        public var messages: Int

        public init(tokens: Int = 3_000, messages: Int = 100) {
            self.tokens = tokens
            self.messages = messages
        }
    }

    public var name: String
    /// The entitlements that give this tier; `TierBook.anyEntitlement` stands for those that no tier names.
    public var entitlements: [String]
    /// Whether the entitlements give this tier during a trial, and not afterwards.
    public var isTrial: Bool
    /// Of all kinds, over all instances.
    public var requestsPerMinute: Int
    /// New messages.
    public var messagesPerDay: Int?
    public var concurrentTurns: Int?
    public var budgets: Budgets
    /// Cost of a day's turns (UTC) of all users of the tier together.
    public var sharedCostPerDay: Nanodollars?
    /// nil: all.
    public var domains: Set<Domain>?
    /// Names of models in `deploy/models.json`; nil: all of a route.
    public var models: [String]?
    public var history: History
    /// Personas that a creator may have published at a time.
    public var publishedPersonas: Int?

    /// By default the requests of CONTRACT §1 and no other limit.
    public init(
        _ name: String, entitlements: [String] = [], isTrial: Bool = false, requestsPerMinute: Int = 600, messagesPerDay: Int? = nil,
        concurrentTurns: Int? = nil, budgets: Budgets = Budgets(), sharedCostPerDay: Nanodollars? = nil, domains: Set<Domain>? = nil,
        models: [String]? = nil,
        history: History = History(), publishedPersonas: Int? = nil
    ) {
        self.name = name
        self.entitlements = entitlements
        self.isTrial = isTrial
        self.requestsPerMinute = requestsPerMinute
        self.messagesPerDay = messagesPerDay
        self.concurrentTurns = concurrentTurns
        self.budgets = budgets
        self.sharedCostPerDay = sharedCostPerDay
        self.domains = domains
        self.models = models
        self.history = history
        self.publishedPersonas = publishedPersonas
    }

    public func allows(_ domain: Domain) -> Bool { domains?.contains(domain) ?? true }
}
