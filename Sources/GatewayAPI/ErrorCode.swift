/// The stable codes of the gateway. Their HTTP statuses and default texts are the server's business.
public enum ErrorCode: String, Sendable, CaseIterable {
    /// The token has expired.
    case tokenExpired = "AUTH_1001"
    /// The token is missing, malformed, or not one of ours.
    case unauthenticated = "AUTH_1002"
    /// A valid token that may not do this.
    case forbidden = "AUTH_1003"
    /// A subscription is required, or no credits are left.
    case subscriptionRequired = "BIZ_2001"
    /// A quota or budget of the tier is used up.
    case quotaExhausted = "BIZ_2002"
    /// A job failed; nothing was charged.
    case jobFailed = "BIZ_2003"
    /// No such route or thing, or not yours.
    case notFound = "BIZ_2004"
    /// The consent that the call needs has not been given.
    case consentRequired = "BIZ_2006"
    /// The conversation has a turn in progress.
    case turnInProgress = "BIZ_2007"
    /// `If-Match` is stale or missing.
    case preconditionFailed = "BIZ_2008"
    /// The idempotency key was used with another body.
    case idempotencyConflict = "BIZ_2009"
    /// Too many requests.
    case rateLimited = "BIZ_2010"
    /// The body or a field of it cannot be accepted; `details.field` names it.
    case invalidInput = "VAL_3001"
    /// The persona or domain named does not exist or is not open to this user.
    case personaOrDomainUnavailable = "VAL_3003"
    /// The route exists, but not for this method.
    case methodNotAllowed = "VAL_3004"
    /// Body or header too large.
    case tooLarge = "VAL_3005"
    /// No provider could answer.
    case providersUnavailable = "EXT_4001"
    /// The database is unreachable.
    case databaseUnavailable = "EXT_4003"
    /// Anything unforeseen. Also what a client makes of a code younger than itself.
    case unforeseen = "SYS_5000"
    /// Overloaded or draining.
    case overloaded = "SYS_5001"
}

/// What a client can do about an error.
public enum ErrorAction: String, Sendable, CaseIterable {
    /// Sign in again.
    case reauthenticate = "re_authenticate"
    /// Leave the screen.
    case goBack = "go_back"
    /// Offer a subscription.
    case upgrade
    /// Try the same again. Also what a client makes of an action younger than itself.
    case retry
    /// Ask for the consent.
    case consent
    /// Try the same again after `retry_after`.
    case wait
    /// Load the newer version first.
    case reload
    /// Correct what `details.field` names.
    case fixInput = "fix_input"
}
