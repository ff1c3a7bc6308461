#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// An event of a chat stream. The last event, and only it, is `done` or `error`.
public enum StreamEvent: Sendable, Equatable {
    /// The first event, sent before the model answers.
    case start(StreamStart)
    /// Sent before any token when danger was detected, and again on every resume.
    case safety(StreamSafety)
    /// A piece of the answer's text.
    case token(content: String)
    /// Token counts and cost, sent before `done`, and before `error` when anything was billed.
    case usage(StreamUsage)
    /// The last event of a turn that ended regularly.
    case done(StreamDone)
    /// The last event of a turn that failed.
    case error(StreamFailure)

    /// Whether the stream ends with this event.
    public var isLast: Bool {
        switch self {
        case .done, .error: true
        case .start, .safety, .token, .usage: false
        }
    }
}

/// The first event of a stream: ids and choices known before the model answers.
public struct StreamStart: Sendable, Equatable {
    /// The turn, for stop, retry and resume.
    public var turnID: UUID
    /// The conversation, which this turn may have created.
    public var conversationID: UUID
    /// The saved message of the user.
    public var userMessageID: UUID
    /// The message that will hold the answer.
    public var messageID: UUID
    /// The attempt, counted from 1 (1 is not encoded). A turn that failed without text may be repeated under the same id. A client with
    /// text of an earlier attempt must drop it and resume from byte 0.
    public var attempt: Int
    /// One of the seven domains; nil when the router did not choose one.
    public var domain: String?
    /// The router's confidence, 0…1.
    public var domainConfidence: Double?
    /// The persona that answers; nil for the default coach.
    public var personaID: UUID?
    /// The first choice of the route. `usage` has the model that answered, which differs after a failover.
    public var model: String
    /// The notice that the user talks to a machine, when it is due.
    public var disclosure: Disclosure?
    /// The id of the request.
    public var requestID: String

    /// The notice that the user talks to a machine. It has a version, so that a client shows each version once.
    public struct Disclosure: Sendable, Equatable {
        /// The text to show unchanged.
        public var text: String
        /// Changes whenever the text changes.
        public var version: String

        public init(text: String, version: String) {
            self.text = text
            self.version = version
        }
    }

    public init(
        turnID: UUID, conversationID: UUID, userMessageID: UUID, messageID: UUID, attempt: Int = 1, domain: String?,
        domainConfidence: Double?, personaID: UUID?, model: String, disclosure: Disclosure?, requestID: String
    ) {
        self.turnID = turnID
        self.conversationID = conversationID
        self.userMessageID = userMessageID
        self.messageID = messageID
        self.attempt = attempt
        self.domain = domain
        self.domainConfidence = domainConfidence
        self.personaID = personaID
        self.model = model
        self.disclosure = disclosure
        self.requestID = requestID
    }
}

/// The safety card: crisis resources to show when the user's message indicates danger.
public struct StreamSafety: Sendable, Equatable {
    /// How prominently a client shows the card.
    public enum Severity: String, Sendable, CaseIterable {
        /// Risk tier 2.
        case concern
        /// Risk tiers 3 and 4.
        case acute
    }

    /// Derived from the tier.
    public var severity: Severity
    /// The risk tier, 2…4.
    public var tier: Int
    /// The detected categories, a subset of suicide, self_harm, abuse, violence, eating_disorder, psychosis, substance.
    public var categories: [String]
    /// Crisis resources for the user's region, best match first.
    public var resources: [SafetyResource]
    /// The text to show unchanged.
    public var message: String

    public init(severity: Severity, tier: Int, categories: [String], resources: [SafetyResource], message: String) {
        self.severity = severity
        self.tier = tier
        self.categories = categories
        self.resources = resources
        self.message = message
    }
}

/// A crisis line or service.
public struct SafetyResource: Sendable, Equatable {
    /// The name of the service.
    public var name: String
    /// The number to call.
    public var phone: String?
    /// What to text, in the language of the card: "988", "HOME to 741741".
    public var sms: String?
    /// A page with a chat or information.
    public var url: String?
    /// The opening hours.
    public var hours: String?
    /// ISO 3166-1 alpha-2; nil for the international entry.
    public var country: String?

    public init(name: String, phone: String?, sms: String?, url: String?, hours: String?, country: String?) {
        self.name = name
        self.phone = phone
        self.sms = sms
        self.url = url
        self.hours = hours
        self.country = country
    }
}

/// Token counts and cost of the answer. Unknown counts are nil, never 0.
public struct StreamUsage: Sendable, Equatable {
    /// The model that answered; nil when none did, and the answer is the gateway's own text, or when the bill is not known.
    public var model: String?
    /// The provider that answered.
    public var provider: String?
    /// All tokens of the prompt, including cached ones.
    public var inputTokens: Int?
    /// The prompt tokens that the provider read from its cache.
    public var cachedInputTokens: Int?
    /// All tokens that the model generated.
    public var outputTokens: Int?
    /// US dollars as decimal text (`MoneyText`); nil when the model has no price.
    public var costUSD: String?
    /// Whether the counts are estimates, because the provider reported no usage.
    public var estimated: Bool

    public init(
        model: String?, provider: String?, inputTokens: Int?, cachedInputTokens: Int?, outputTokens: Int?, costUSD: String?, estimated: Bool
    ) {
        self.model = model
        self.provider = provider
        self.inputTokens = inputTokens
        self.cachedInputTokens = cachedInputTokens
        self.outputTokens = outputTokens
        self.costUSD = costUSD
        self.estimated = estimated
    }
}

/// The event that ends a successful stream.
public struct StreamDone: Sendable, Equatable {
    /// Why the answer ended. The server's own enum is `FinishReason` of `CoachCore`, which apps do not import.
    public enum Reason: String, Sendable, CaseIterable {
        /// The model completed the answer. Clients also decode reasons that they do not know as this one.
        case stop
        /// The answer reached the limit of tokens or bytes.
        case length
        /// The user stopped the turn.
        case stopped
        /// The crisis text replaced the model, or the provider's content filter ended the answer.
        case safety
    }

    /// Why the answer ended.
    public var finishReason: Reason
    /// The saved message that holds the answer.
    public var messageID: UUID

    public init(finishReason: Reason, messageID: UUID) {
        self.finishReason = finishReason
        self.messageID = messageID
    }
}

/// The event that ends a failed stream.
public struct StreamFailure: Error, Sendable, Equatable {
    /// A stable code for programs.
    public var code: ErrorCode
    /// A description for developers.
    public var message: String
    /// A text to show to the user.
    public var userMessage: String
    /// What a client can do.
    public var action: ErrorAction
    /// Whether the same request may succeed later.
    public var retryable: Bool
    /// Seconds to wait before a retry; nil when waiting does not help.
    public var retryAfter: Int?
    /// Whether a part of the answer was sent and is kept.
    public var partial: Bool
    /// The UTF-8 bytes of the answer that are kept; a client with more text truncates it to them. nil: everything sent is kept.
    public var keptBytes: Int?

    public init(
        code: ErrorCode, message: String, userMessage: String, action: ErrorAction, retryable: Bool, retryAfter: Int? = nil,
        partial: Bool = false, keptBytes: Int? = nil
    ) {
        self.code = code
        self.message = message
        self.userMessage = userMessage
        self.action = action
        self.retryable = retryable
        self.retryAfter = retryAfter
        self.partial = partial
        self.keptBytes = keptBytes
    }
}
