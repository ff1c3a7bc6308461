/// A request that the database rejected. The server maps the reason to an error code (CONTRACT §2).
public struct Rejection: Sendable, Equatable, Error {
    /// Raw values are those of the SQL functions.
    public enum Reason: String, Sendable, CaseIterable {
        case notFound = "not_found"
        case unknownPersona = "unknown_persona"
        case turnInProgress = "turn_in_progress"
        case idempotencyMismatch = "idempotency_mismatch"
        case quotaExhausted = "quota_exhausted"
        /// A fixed limit of the account, the same in every tier: of conversations, personas, versions, links, decisions, reports.
        case tooManyItems = "too_many_items"
        case budgetExhausted = "budget_exhausted"
        case tooManyTurns = "too_many_turns"
        case rateLimited = "rate_limited"
        /// Published ones.
        case tooManyPersonas = "too_many_personas"
        case subscriptionRequired = "subscription_required"
        case consentMissing = "consent_missing"
        case suspended
    }
    public var reason: Reason
    /// Seconds until a retry can succeed; nil when a retry does not help.
    public var retryAfter: Int?
    /// The limit that was reached, for `details.limit`.
    public var limit: Int?
    /// When the limit resets, in Unix seconds.
    public var resetAt: Int?
    /// Name of the user's tier; nil when it was not looked at.
    public var tier: String?
    /// The named domain that the tier does not have.
    public var domain: Domain?
    /// The exhausted budget, if users share it.
    public var sharedBudget: SharedBudget.Scope?
    /// Those that the call needs.
    public var missingConsents: [ConsentKind]
    /// The user's highest stored level over all personas. Above `.calm` the error response includes crisis resources.
    public var safetyLevel: SafetyLevel
    /// From the user's profile.
    public var region: Region

    public init(
        reason: Reason, retryAfter: Int? = nil, limit: Int? = nil, resetAt: Int? = nil, tier: String? = nil, domain: Domain? = nil,
        sharedBudget: SharedBudget.Scope? = nil, missingConsents: [ConsentKind] = [], safetyLevel: SafetyLevel = .calm,
        region: Region = .unknown
    ) {
        self.reason = reason
        self.retryAfter = retryAfter
        self.limit = limit
        self.resetAt = resetAt
        self.tier = tier
        self.domain = domain
        self.sharedBudget = sharedBudget
        self.missingConsents = missingConsents
        self.safetyLevel = safetyLevel
        self.region = region
    }
}
