import CoachCore
import CoreMetrics

/// The limits that reject requests. Raw values are those of the label `limit` of `coach_refused_requests_total`.
public enum RequestLimit: String, Sendable {
    /// Requests of a user in a minute.
    case requests
    /// The tier's quota of messages.
    case quota
    /// A fixed number of rows of an account.
    case items
    /// A budget of money: a user's, or one that users share.
    case budget
    /// Turns of one user at once.
    case userTurns = "user_turns"
    /// Turns of this instance at once.
    case instanceTurns = "instance_turns"
    /// Streams of one turn, or of operators' events on this instance.
    case streams
    case personas
    /// Requests of an address without a valid token.
    case address

    /// nil for a reason that is no limit.
    init?(_ reason: Rejection.Reason) {
        switch reason {
        case .rateLimited: self = .requests
        case .quotaExhausted: self = .quota
        case .tooManyItems: self = .items
        case .budgetExhausted: self = .budget
        case .tooManyTurns: self = .userTurns
        case .tooManyPersonas: self = .personas
        case .notFound, .unknownPersona, .turnInProgress, .idempotencyMismatch, .subscriptionRequired, .consentMissing, .suspended:
            return nil
        }
    }

    /// Counts a rejected request.
    func count() { Self.rejections[self].increment() }

    private static let rejections = MetricHandles { (limit: RequestLimit) in
        Counter(label: "coach_refused_requests", dimensions: [("limit", limit.rawValue)])
    }
}
