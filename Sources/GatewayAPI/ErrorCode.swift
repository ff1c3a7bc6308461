/// The stable error codes of the API. The server's `ErrorMapping` defines their HTTP statuses and default texts.
public enum ErrorCode: String, Sendable, CaseIterable {
    /// The token has expired.
    case tokenExpired = "AUTH_1001"
    /// The token is missing, malformed, or not from the configured issuer.
    case unauthenticated = "AUTH_1002"
    /// The token is valid but does not permit this action.
    case forbidden = "AUTH_1003"
    /// A subscription is required, or no credits are left.
    case subscriptionRequired = "BIZ_2001"
    /// A quota or budget of the user's tier is used up.
    case quotaExhausted = "BIZ_2002"
    /// A background job failed; nothing was charged.
    case jobFailed = "BIZ_2003"
    /// The route or resource does not exist, or the resource belongs to another user.
    case notFound = "BIZ_2004"
    /// The user has not given the consent that the request requires.
    case consentRequired = "BIZ_2006"
    /// The conversation has a turn in progress.
    case turnInProgress = "BIZ_2007"
    /// `If-Match` is stale or missing.
    case preconditionFailed = "BIZ_2008"
    /// The idempotency key was already used with another body.
    case idempotencyConflict = "BIZ_2009"
    /// Too many requests.
    case rateLimited = "BIZ_2010"
    /// The body or one of its fields is invalid; `details.field` names the field.
    case invalidInput = "VAL_3001"
    /// The requested persona or domain does not exist or is not available to this user.
    case personaOrDomainUnavailable = "VAL_3003"
    /// The route does not support this method.
    case methodNotAllowed = "VAL_3004"
    /// The body or a header is too large.
    case tooLarge = "VAL_3005"
    /// No provider could answer.
    case providersUnavailable = "EXT_4001"
    /// The database is unreachable.
    case databaseUnavailable = "EXT_4003"
    /// An unexpected error. Clients also decode codes that they do not know as this one.
    case unforeseen = "SYS_5000"
    /// The instance is overloaded or draining.
    case overloaded = "SYS_5001"
}

/// What a client should do about an error.
public enum ErrorAction: String, Sendable, CaseIterable {
    /// Sign in again.
    case reauthenticate = "re_authenticate"
    /// Leave the screen.
    case goBack = "go_back"
    /// Offer a subscription.
    case upgrade
    /// Repeat the request. Clients also decode actions that they do not know as this one.
    case retry
    /// Ask the user for the consent.
    case consent
    /// Repeat the request after `retry_after`.
    case wait
    /// Load the newer version of the resource first.
    case reload
    /// Correct the field that `details.field` names.
    case fixInput = "fix_input"
}
