import CoachCore
import GatewayAPI
import Hummingbird
import Identity
import JSON

/// Maps error codes to status, action and text for the user (CONTRACT §2). The only place that does.
public enum ErrorMapping {
    /// Status, action and text of a code.
    public struct Row: Sendable {
        public var status: Int
        public var action: ErrorAction
        /// Shown to the user: warm, in the coach's first person.
        public var userMessage: String
    }

    public static func row(_ code: ErrorCode) -> Row {
        switch code {
        case .tokenExpired, .unauthenticated: Row(status: 401, action: .reauthenticate, userMessage: signIn)
        case .forbidden: Row(status: 403, action: .goBack, userMessage: "I can't open this for you.")
        case .subscriptionRequired: Row(status: 403, action: .upgrade, userMessage: "This feature requires a subscription.")
        case .quotaExhausted: Row(status: 429, action: .upgrade, userMessage: quota)
        case .jobFailed: Row(status: 500, action: .retry, userMessage: "That didn't work out, and nothing was charged. Let's try again.")
        case .notFound: Row(status: 404, action: .goBack, userMessage: "I couldn't find what you were looking for.")
        case .consentRequired: Row(status: 403, action: .consent, userMessage: "I need your permission before we go on.")
        case .turnInProgress: Row(status: 409, action: .wait, userMessage: "I'm still answering. Give me a moment to finish.")
        case .preconditionFailed:
            Row(status: 412, action: .reload, userMessage: "This changed in the meantime. Let me show you the latest.")
        case .idempotencyConflict:
            Row(status: 422, action: .goBack, userMessage: "Something got mixed up on the way to me. Let's go back a step.")
        case .rateLimited:
            Row(status: 429, action: .wait, userMessage: "That was a lot at once. Let's take a breath and go on in a moment.")
        case .invalidInput: Row(status: 422, action: .fixInput, userMessage: "I couldn't read that. Could you check it and send it again?")
        case .personaOrDomainUnavailable:
            Row(status: 422, action: .fixInput, userMessage: "That coach isn't available. Let's pick another one.")
        case .methodNotAllowed: Row(status: 405, action: .fixInput, userMessage: "I can't do that here.")
        case .tooLarge: Row(status: 413, action: .fixInput, userMessage: "That is more than I can take in at once. Could you shorten it?")
        case .providersUnavailable: Row(status: 503, action: .retry, userMessage: takingAMoment)
        case .databaseUnavailable: Row(status: 503, action: .retry, userMessage: takingAMoment)
        case .overloaded: Row(status: 503, action: .retry, userMessage: takingAMoment)
        case .unforeseen: Row(status: 500, action: .retry, userMessage: takingAMoment)
        }
    }

    private static let signIn = "I had trouble signing you in. Let's try that again."
    private static let takingAMoment = "Coach is taking a moment. Let's try again."
    private static let quota = "You've reached today's limit. Let's continue tomorrow, or upgrade for more time together."
}

extension GatewayError {
    /// A rejected token. The message names the rule, never the token.
    public init(_ rejection: TokenRejection) {
        let code: ErrorCode =
            switch rejection {
            case .expired: .tokenExpired
            case .forbidden: .forbidden
            // The token may be valid. A client that is told to sign in again would get another one that cannot be verified.
            case .keysNotLoaded: .overloaded
            default: .unauthenticated
            }
        self.init(code, rejection.message, retryAfter: code == .overloaded ? Int(KeySource.retryPause.components.seconds) : nil)
    }

    /// A rejected body: 400 when it is not JSON, else 422 with the first field and all findings.
    public init(_ findings: JSONFindings) {
        let (first, all) = (findings.first, findings.all)
        let more = findings.others.isEmpty ? "" : ", and \(findings.others.count) more"
        let namesNothing = all.allSatisfy { finding in if case .unavailable = finding.problem { true } else { false } }
        self.init(
            namesNothing ? .personaOrDomainUnavailable : .invalidInput, first.requestMessage + more, status: first.isMalformed ? 400 : 422)
        guard !first.isMalformed else { return }
        // The body itself, when it is no object.
        self = naming(field: first.field ?? "body")
        details.append(
            ("findings", .array(all.map { ["field": .string($0.path), "message": .string($0.description)] })))
    }

    public init(_ finding: JSONFinding) { self.init(JSONFindings(finding)) }

    /// A rejection by the database.
    public init(_ rejection: Rejection) {
        switch rejection.reason {
        case .notFound: self = .notFound
        case .unknownPersona:
            self.init(.personaOrDomainUnavailable, "the persona does not exist or is not open to this user")
            self = naming(field: "persona_id")
        case .turnInProgress: self.init(.turnInProgress, "this conversation has a turn in progress")
        case .idempotencyMismatch: self.init(.idempotencyConflict, "the idempotency key was used with another body")
        case .quotaExhausted: self.init(.quotaExhausted, "the limit on messages is reached")
        case .tooManyItems:
            self.init(.quotaExhausted, "the account has as many of these as it may have")
            userMessage = "I have no room for another one of these. Let's go on with those you have."
            action = .goBack
        case .budgetExhausted where rejection.sharedBudget == .installation || rejection.sharedBudget == .persona:
            self.init(.quotaExhausted, "a budget that does not depend on the tier is used up")
            action = .wait
        case .budgetExhausted: self.init(.quotaExhausted, "the budget of the tier is used up")
        case .tooManyTurns:
            self.init(.quotaExhausted, "too many turns at once for the tier")
            userMessage = "I'm still busy with your other questions. Let me finish one of them first."
        case .tooManyPersonas where rejection.limit == 0:
            self.init(.subscriptionRequired, "the tier cannot publish personas")
            userMessage = "I can only share your coach with a subscription. Shall we look at it together?"
        case .tooManyPersonas:
            self.init(.quotaExhausted, "the tier's number of published personas is reached")
            userMessage = "You share as many coaches as your plan has room for. Unpublish one to share another."
        case .rateLimited: self.init(.rateLimited, "too many requests")
        case .subscriptionRequired:
            self.init(.subscriptionRequired, "the tier does not have the domain")
            userMessage = "That's a part of coaching I can only open with a subscription. Shall we look at it together?"
        case .consentMissing: self.init(.consentRequired, "a consent that the call needs has not been given")
        case .suspended: self.init(.forbidden, "this account is suspended")
        }
        retryAfter = rejection.retryAfter
        limit = RequestLimit(rejection.reason)
        if !rejection.missingConsents.isEmpty {
            details.append(("consents", .array(rejection.missingConsents.map { .string($0.rawValue) })))
        }
        if let limit = rejection.limit { details.append(("limit", .integer(Int64(limit)))) }
        if let resetAt = rejection.resetAt {
            details.append(("reset_at", .string(Timestamp(millisecondsSince1970: Int64(resetAt) * 1000).rfc3339)))
        }
    }

    /// Maps an error of a port or of the HTTP server to a client error; nil for an unexpected one.
    init?(known error: any Error) {
        switch error {
        case let error as GatewayError: self = error
        case let findings as JSONFindings: self.init(findings)
        case let finding as JSONFinding: self.init(finding)
        case let fault as StoreFault: self.init(fault)
        case let rejection as Rejection: self.init(rejection)
        case let counted as CountedRejection:
            self.init(counted.rejection)
            rate = counted.rate
        case is StaleVersion: self.init(.preconditionFailed, "the resource was changed in the meantime")
        case let unknown as UnknownVersion: self = GatewayError(.invalidInput, "there is no such version").naming(field: unknown.field)
        case is NotAllowed: self.init(.forbidden, "the caller's role does not allow this")
        case let token as InvalidChangeToken: self.init(token)
        case is InvalidCursor: self = GatewayError(.invalidInput, "the cursor is not one of this list").naming(field: "cursor")
        case let tooLong as ProfileTooLong:
            let field = tooLong.field.rawValue
            self = GatewayError(.invalidInput, "\(field) is too long").naming(field: field)
        case is InvalidFigureQuery:
            self = GatewayError(.invalidInput, "tz must be a name of the IANA time zone database").naming(field: "tz")
        case let fault as RequestFault: self.init(fault)
        case let error as any HTTPResponseError:
            switch error.status.code {
            case 404: self = .notFound
            case 413: self = GatewayError(.tooLarge, "the request's body is too large")
            case 400: self = GatewayError(.invalidInput, "the request is malformed", status: 400)
            default: return nil
            }
        default: return nil
        }
    }

    /// A token of changes that no answer contained.
    private init(_ token: InvalidChangeToken) {
        let parameter = token.parameter.rawValue
        let source =
            switch token.parameter {
            case .updatedSince: "a time, or the next_updated_since"
            case .since: "the next"
            }
        self.init(.invalidInput, "\(parameter) must be \(source) of an earlier answer")
        self = naming(field: parameter)
    }

    /// A request that is invalid HTTP, or too slow.
    init(_ fault: RequestFault) {
        switch fault {
        case .malformed: self.init(.invalidInput, "the request is not valid HTTP", status: 400)
        case .host: self.init(.invalidInput, "the request must have one valid Host field", status: 400)
        case .transferEncoding: self.init(.invalidInput, "the length of the request's body is ambiguous", status: 400)
        case .transferCoding: self.init(.invalidInput, "no transfer coding but chunked is supported", status: 501)
        case .headTooLarge: self.init(.tooLarge, "the request's header is larger than 32 KiB or 200 fields", status: 431)
        case .headTooSlow, .bodyTooSlow:
            self.init(.invalidInput, "the request did not arrive in time", status: 408)
            action = .retry
            userMessage = "I couldn't get all of that in time. Let's try again."
        }
    }

    /// A fault of the database. Its reason is logged, never sent.
    init(_ fault: StoreFault) {
        switch fault {
        case .unavailable(let retryAfter, _): self = .databaseAway(retryAfter: retryAfter)
        case .unexpected: self.init(.unforeseen, "unforeseen error")
        }
    }
}
