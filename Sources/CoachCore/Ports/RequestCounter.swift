/// Port to the per-user request rate limit, exact across all instances.
public struct RequestCounter: Sendable {
    /// Counts one request of the caller, and creates the user's row on their first one. Throws `StoreFault`, and `CountedRejection` when the
    /// limit is reached or the user is suspended. The limit does not apply to a request of a turn (`isOfTurn`) of users with a stored safety
    /// level of 1 or more.
    public var take: @Sendable (_ caller: Caller, _ isOfTurn: Bool) async throws -> CountedRequest
    /// Takes back the count of one message of the caller's day: of a turn that began on `day` and was rejected before its model call. No effect when
    /// the caller's current day is another. Not idempotent. Throws `StoreFault`.
    public var giveBackMessage: @Sendable (_ caller: Caller, _ day: CalendarDay) async throws -> Void

    public init(
        take: @escaping @Sendable (_ caller: Caller, _ isOfTurn: Bool) async throws -> CountedRequest,
        giveBackMessage: @escaping @Sendable (_ caller: Caller, _ day: CalendarDay) async throws -> Void
    ) {
        self.take = take
        self.giveBackMessage = giveBackMessage
    }
}

/// The result of `take`: the request counts and is within the limit.
public struct CountedRequest: Sendable, Equatable {
    public var rate: RateLimit
    /// The caller's highest stored level over all personas.
    public var safetyLevel: SafetyLevel
    /// From the user's profile.
    public var region: Region
    /// Whether the user's row was created so shortly before that a statement which ran beside may not have seen it.
    public var isNewUser: Bool

    public init(rate: RateLimit, safetyLevel: SafetyLevel, region: Region = .unknown, isNewUser: Bool = false) {
        self.rate = rate
        self.safetyLevel = safetyLevel
        self.region = region
        self.isNewUser = isNewUser
    }
}

/// A rejected request, with the state of the caller's rate limit for the response headers.
public struct CountedRejection: Error, Sendable, Equatable {
    public var rejection: Rejection
    public var rate: RateLimit

    public init(rejection: Rejection, rate: RateLimit) {
        self.rejection = rejection
        self.rate = rate
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
