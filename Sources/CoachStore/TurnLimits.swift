import CoachCore

/// Limits of users and of a turn's history. Read from `deploy/limits.json` and passed to each call, so that SQL contains none.
public struct TurnLimits: Sendable, Equatable {
    /// Limits of one tier; nil does not limit.
    public struct Tier: Sendable, Equatable {
        /// New messages a day (UTC).
        public var messagesPerDay: Int?
        /// Concurrent turns.
        public var concurrentTurns: Int?
        /// Cost of a day's turns (UTC).
        public var costPerDay: Nanodollars?

        /// Unlimited by default.
        public init(messagesPerDay: Int? = nil, concurrentTurns: Int? = nil, costPerDay: Nanodollars? = nil) {
            self.messagesPerDay = messagesPerDay
            self.concurrentTurns = concurrentTurns
            self.costPerDay = costPerDay
        }
    }

    /// Allowance of a user in danger beyond the ordinary limits (CONTRACT §4).
    public struct CrisisAllowance: Sendable, Equatable {
        /// Model calls a day (UTC).
        public var modelCallsPerDay: Int
        /// Concurrent turns, ordinary ones included.
        public var concurrentTurns: Int

        /// The shipped defaults.
        public init(modelCallsPerDay: Int = 30, concurrentTurns: Int = 20) {
            self.modelCallsPerDay = modelCallsPerDay
            self.concurrentTurns = concurrentTurns
        }
    }

    /// Requests of one user in one minute, over all instances.
    public var requestsPerMinute: Int
    /// The tier of users without an entitlement; its limits apply to tiers that `tiers` does not name.
    public var defaultTier: String
    public var tiers: [String: Tier]
    public var crisis: CrisisAllowance
    /// Estimated tokens of earlier messages in a turn's history.
    public var historyTokens: Int
    /// Messages in a turn's history.
    public var historyMessages: Int
    /// Reserved for each running turn in the user's daily budget.
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
