import Foundation

/// Port to a user's own account. `CoachStore` implements it on PostgreSQL. Closures throw `StoreFault`.
public struct AccountRepository: Sendable {
    public var get: @Sendable (Caller) async throws -> AccountRecord
    /// Changes fields and returns the result.
    public var patch: @Sendable (Caller, AccountPatch) async throws -> AccountRecord
    /// Messages of this day and calls of this month, both UTC, and the tier's limit of messages.
    public var usage: @Sendable (Caller) async throws -> AccountUsage
    /// Returns a token that confirms the removal of the account within ten minutes. Earlier ones become invalid.
    public var prepareRemoval: @Sendable (Caller) async throws -> String
    /// Rejects the user from now on and removes everything of theirs as a job. Uses up the token; false, without effect, for an invalid one.
    public var confirmRemoval: @Sendable (Caller, _ token: String) async throws -> Bool

    public init(
        get: @escaping @Sendable (Caller) async throws -> AccountRecord,
        patch: @escaping @Sendable (Caller, AccountPatch) async throws -> AccountRecord,
        usage: @escaping @Sendable (Caller) async throws -> AccountUsage,
        prepareRemoval: @escaping @Sendable (Caller) async throws -> String,
        confirmRemoval: @escaping @Sendable (Caller, _ token: String) async throws -> Bool
    ) {
        self.get = get
        self.patch = patch
        self.usage = usage
        self.prepareRemoval = prepareRemoval
        self.confirmRemoval = confirmRemoval
    }
}

/// A user as they see themselves (CONTRACT §5).
public struct AccountRecord: Sendable, Equatable {
    public var id: UserID
    public var displayName: String?
    /// BCP 47.
    public var locale: String?
    /// ISO 3166-1 alpha-2, upper case.
    public var country: String?
    /// IANA.
    public var timeZone: String?
    public var isMinor: Bool?
    public var createdAt: Date
    public var updatedAt: Date

    public init(
        id: UserID, displayName: String?, locale: String?, country: String?, timeZone: String?, isMinor: Bool?, createdAt: Date,
        updatedAt: Date
    ) {
        self.id = id
        self.displayName = displayName
        self.locale = locale
        self.country = country
        self.timeZone = timeZone
        self.isMinor = isMinor
        self.createdAt = createdAt
        self.updatedAt = updatedAt
    }
}

/// Changes to an account. nil leaves a field unchanged, `.some(nil)` clears it.
public struct AccountPatch: Sendable, Equatable {
    public var displayName: String??
    public var locale: String??
    public var country: String??
    public var timeZone: String??
    public var isMinor: Bool??

    public init() {}
}

/// What a user has used.
public struct AccountUsage: Sendable, Equatable {
    /// UTC.
    public var day: CalendarDay
    public var messagesToday: Int
    public var tier: String
    /// Of the tier; nil does not limit.
    public var messagesPerDay: Int?
    /// Turns in the month of `day`; all that follows is of that month, too.
    public var turns: Int
    public var usage: TokenUsage
    /// The cost of the calls with a known price.
    public var cost: Nanodollars
    public var unpricedCalls: Int

    public init(
        day: CalendarDay, messagesToday: Int, tier: Tier, turns: Int, usage: TokenUsage, cost: Nanodollars, unpricedCalls: Int
    ) {
        self.day = day
        self.messagesToday = messagesToday
        self.tier = tier.name
        messagesPerDay = tier.messagesPerDay
        self.turns = turns
        self.usage = usage
        self.cost = cost
        self.unpricedCalls = unpricedCalls
    }

    /// New messages until the day ends. None is left, too, after those of a user in danger, which the limit does not refuse (CONTRACT §4).
    public var messagesRemaining: Int? { messagesPerDay.map { max(0, $0 - messagesToday) } }
}
