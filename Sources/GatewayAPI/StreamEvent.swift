#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// One event of a chat stream. Exactly one of a stream, the last, is `done` or `error`.
public enum StreamEvent: Sendable, Equatable {
    /// First, at once.
    case start(StreamStart)
    /// Before any token, when danger was detected; repeated on every resume.
    case safety(StreamSafety)
    /// A piece of text as it arrives.
    case token(content: String)
    /// Before the end, when anything was billed.
    case usage(StreamUsage)
    /// Last.
    case done(StreamDone)
    /// Last, instead of `done`.
    case error(StreamFailure)

    /// Whether the stream ends with this event.
    public var isLast: Bool {
        switch self {
        case .done, .error: true
        case .start, .safety, .token, .usage: false
        }
    }
}

/// What is known before the model answers.
public struct StreamStart: Sendable, Equatable {
    /// For stop, retry and resume.
    public var turnID: UUID
    /// The conversation, also when it was created by this turn.
    public var conversationID: UUID
    /// The user's message as saved.
    public var userMessageID: UUID
    /// The answer that is coming.
    public var messageID: UUID
    /// Counts from 1, which is not written. A turn that failed without text may be tried again under its id: whoever has text of an
    /// earlier attempt, which was lost, drops it and asks again from byte 0.
    public var attempt: Int
    /// One of the seven, nil when the router abstains.
    public var domain: String?
    /// 0…1.
    public var domainConfidence: Double?
    /// The persona that answers.
    public var personaID: UUID?
    /// First choice of the route; `usage` says which answered.
    public var model: String
    /// The notice that this is no human, when one is due.
    public var disclosure: Disclosure?
    /// The id of the request.
    public var requestID: String

    /// A text with its version, so that a client shows each once.
    public struct Disclosure: Sendable, Equatable {
        /// To be shown as it is.
        public var text: String
        /// Changes with the text.
        public var version: String

        /// A disclosure from its parts.
        public init(text: String, version: String) {
            self.text = text
            self.version = version
        }
    }

    /// A start from its parts.
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

/// The card for somebody in danger.
public struct StreamSafety: Sendable, Equatable {
    /// How much of the screen the card deserves.
    public enum Severity: String, Sendable {
        /// Tier 2.
        case concern
        /// Tiers 3 and 4.
        case acute
    }

    /// From the tier.
    public var severity: Severity
    /// 2…4.
    public var tier: Int
    /// Of suicide, self_harm, abuse, violence, eating_disorder, psychosis, substance.
    public var categories: [String]
    /// Whom to turn to, most fitting first.
    public var resources: [SafetyResource]
    /// To be shown as it is.
    public var message: String

    /// A card from its parts.
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
    /// Its own name.
    public var name: String
    /// To call.
    public var phone: String?
    /// To text.
    public var sms: String?
    /// To chat or read.
    public var url: String?
    /// When somebody is there.
    public var hours: String?
    /// ISO 3166-1 alpha-2; nil for the international entry.
    public var country: String?

    /// A resource from its parts.
    public init(name: String, phone: String?, sms: String?, url: String?, hours: String?, country: String?) {
        self.name = name
        self.phone = phone
        self.sms = sms
        self.url = url
        self.hours = hours
        self.country = country
    }
}

/// What the answer took. Unknown counts are nil, never 0.
public struct StreamUsage: Sendable, Equatable {
    /// The model that answered.
    public var model: String
    /// The provider that answered.
    public var provider: String
    /// All tokens sent, cached ones included.
    public var inputTokens: Int?
    /// Those of them that the provider had in its cache.
    public var cachedInputTokens: Int?
    /// All tokens the model produced.
    public var outputTokens: Int?
    /// Decimal text in US dollars (`MoneyText`), nil when unpriced.
    public var costUSD: String?
    /// The provider reported no usage; the counts are estimates.
    public var estimated: Bool

    /// Usage from its parts.
    public init(
        model: String, provider: String, inputTokens: Int?, cachedInputTokens: Int?, outputTokens: Int?, costUSD: String?, estimated: Bool
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

/// The regular end.
public struct StreamDone: Sendable, Equatable {
    /// Why the answer ended.
    public enum FinishReason: String, Sendable {
        /// The model was done. Also what a client makes of a reason younger than itself.
        case stop
        /// The model's limit of length.
        case length
        /// The user's wish.
        case stopped
        /// The fixed text stood in for a model.
        case safety
    }

    /// Why.
    public var finishReason: FinishReason
    /// The answer as saved.
    public var messageID: UUID

    /// An end from its parts.
    public init(finishReason: FinishReason, messageID: UUID) {
        self.finishReason = finishReason
        self.messageID = messageID
    }
}

/// The end by a failure.
public struct StreamFailure: Error, Sendable, Equatable {
    /// Stable, for programs.
    public var code: ErrorCode
    /// For developers.
    public var message: String
    /// For the user.
    public var userMessage: String
    /// What a client can do.
    public var action: ErrorAction
    /// Whether the same request may succeed later.
    public var retryable: Bool
    /// Seconds, when waiting helps.
    public var retryAfter: Int?
    /// A part of the answer was said and is kept.
    public var partial: Bool
    /// UTF-8 bytes of the answer that are kept: a client that has more cuts its text to them. nil: all that was sent.
    public var keptBytes: Int?

    /// A failure from its parts.
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

    /// The same refusal as an error envelope would carry, as an event. Retryable is what asks to be retried or waited for.
    public init(_ error: ErrorBody, partial: Bool = false, keptBytes: Int? = nil) {
        self.init(
            code: error.code, message: error.message, userMessage: error.userMessage, action: error.action,
            retryable: error.action == .retry || error.action == .wait, retryAfter: error.retryAfter, partial: partial,
            keptBytes: keptBytes)
    }
}
