import CoachCore

/// How much users may ask for, and how much of the past a turn brings back. Comes from `deploy/`, travels with each call, and is nowhere in SQL.
public struct TurnLimits: Sendable, Equatable {
    /// What one tier allows; nil does not limit.
    public struct Tier: Sendable, Equatable {
        /// New messages a day (UTC).
        public var messagesPerDay: Int?
        /// Turns that run at the same time.
        public var concurrentTurns: Int?
        /// What the turns of a day (UTC) may cost.
        public var costPerDay: Nanodollars?

        /// Unlimited by default.
        public init(messagesPerDay: Int? = nil, concurrentTurns: Int? = nil, costPerDay: Nanodollars? = nil) {
            self.messagesPerDay = messagesPerDay
            self.concurrentTurns = concurrentTurns
            self.costPerDay = costPerDay
        }
    }

    /// What a user in danger has past the ordinary limits (CONTRACT §4).
    public struct CrisisAllowance: Sendable, Equatable {
        /// Model calls a day (UTC).
        public var modelCallsPerDay: Int
        /// Turns that run at the same time, ordinary ones included.
        public var concurrentTurns: Int

        /// The shipped defaults.
        public init(modelCallsPerDay: Int = 30, concurrentTurns: Int = 20) {
            self.modelCallsPerDay = modelCallsPerDay
            self.concurrentTurns = concurrentTurns
        }
    }

    /// Requests of one user in one minute, on all gateways together.
    public var requestsPerMinute: Int
    /// The tier of users without an entitlement, and the limits of tiers that `tiers` does not name.
    public var defaultTier: String
    public var tiers: [String: Tier]
    public var crisis: CrisisAllowance
    /// Tokens of earlier messages that a turn brings back, estimated.
    public var historyTokens: Int
    /// Messages, at most.
    public var historyMessages: Int
    /// Set aside for each turn in the user's daily budget until its bill is known.
    public var reservePerTurn: Nanodollars?

    /// The shipped defaults (CONTRACT §1): 600 requests a minute; free tier 200 messages a day and 5 concurrent turns.
    public init(
        requestsPerMinute: Int = 600, defaultTier: String = "free",
        tiers: [String: Tier] = ["free": Tier(messagesPerDay: 200, concurrentTurns: 5)], crisis: CrisisAllowance = CrisisAllowance(),
        historyTokens: Int = 3_000, historyMessages: Int = 100, reservePerTurn: Nanodollars? = nil
    ) {
        self.requestsPerMinute = requestsPerMinute
        self.defaultTier = defaultTier
        self.tiers = tiers
        self.crisis = crisis
        self.historyTokens = historyTokens
        self.historyMessages = historyMessages
        self.reservePerTurn = reservePerTurn
    }
}
