/// The result of a successful `begin_turn`: all data the turn needs. The user's message is already saved.
public struct TurnContext: Sendable, Equatable {
    public var identity: TurnIdentity
    /// UTC day on which the attempt began, on the database's clock: it is priced as of this day, independent of the gateway's own clock.
    public var day: CalendarDay
    /// Name of the user's tier.
    public var tier: String
    /// False when the user is in danger and has used all that is allowed beyond the limits. The fixed text is the answer then (CONTRACT §4).
    public var callsModel: Bool
    /// What users entered about themselves; nil when there is nothing.
    public var profile: ContextProfile?
    /// Summary of the messages that `history` no longer includes.
    public var summary: String?
    /// Earlier messages that the summary does not cover; nil: no summary is made of the conversation.
    public var unsummarised: Int?
    /// Earlier messages, oldest first, limited by a token budget.
    public var history: [HistoryMessage]
    /// The persona of the request or of the conversation; nil for the plain coach.
    public var persona: Persona?
    /// The user's stored level with this persona, before this message.
    public var safetyLevel: SafetyLevel
    /// The highest level over all personas, before this message. It lifts the limits, and gives errors crisis resources.
    public var highestLevel: SafetyLevel
    /// nil while the level is calm, and when the danger was shown in another conversation.
    public var earlierDanger: EarlierDanger?
    /// When the message is answered again, its risk as an earlier attempt has assessed it, which `safetyLevel` includes.
    public var earlierRisk: RiskAssessment?
    /// The risk with which the message is saved, by which a turn without a model began; nil when a model is called.
    public var savedRisk: RiskAssessment?
    /// `TurnFacts.hasLostAttempt`.
    public var hasLostAttempt: Bool
    /// The conversation's current domain; nil at its start.
    public var conversationDomain: Domain?
    /// The domain pinned by the request. A retry has that of the original request.
    public var pinnedDomain: Domain?
    /// From the user's profile. Selects crisis resources.
    public var region: Region
    /// Number of the turn in its conversation, from 1. A retry has that of its message.
    public var turnNumber: Int
    /// From the profile.
    public var isMinor: Bool
    /// The notice of talking to a machine, when it is due.
    public var disclosure: DisclosureKind?
    /// Texts of roles `system` and `developer` that the client sent. Untrusted; see `DelimitedData`.
    public var clientTexts: [String] = []

    public init(
        identity: TurnIdentity, day: CalendarDay, tier: String = "", callsModel: Bool = true, profile: ContextProfile?, summary: String?,
        unsummarised: Int? = nil, history: [HistoryMessage], persona: Persona?,
        safetyLevel: SafetyLevel, highestLevel: SafetyLevel = .calm, earlierDanger: EarlierDanger? = nil,
        earlierRisk: RiskAssessment? = nil, savedRisk: RiskAssessment? = nil, hasLostAttempt: Bool = false,
        conversationDomain: Domain?, pinnedDomain: Domain? = nil,
        region: Region = .unknown, turnNumber: Int = 1, isMinor: Bool = false, disclosure: DisclosureKind? = nil
    ) {
        self.identity = identity
        self.day = day
        self.tier = tier
        self.callsModel = callsModel
        self.profile = profile
        self.summary = summary
        self.unsummarised = unsummarised
        self.history = history
        self.persona = persona
        self.safetyLevel = safetyLevel
        self.highestLevel = max(highestLevel, safetyLevel)
        self.earlierDanger = earlierDanger
        self.earlierRisk = earlierRisk
        self.savedRisk = savedRisk
        self.hasLostAttempt = hasLostAttempt
        self.conversationDomain = conversationDomain
        self.pinnedDomain = pinnedDomain
        self.region = region
        self.turnNumber = turnNumber
        self.isMinor = isMinor
        self.disclosure = disclosure
    }
}

extension TurnContext {
    /// Whether messages are neither in the history nor in the summary.
    public var needsSummary: Bool { unsummarised.map { $0 > history.count } ?? false }

    /// The context with the messages that the client has sent. The history keeps the newest messages that fit into the tier's limit.
    public func adding(_ supplied: SuppliedContext?, within limit: Tier.History) -> TurnContext {
        guard let supplied else { return self }
        var context = self
        context.clientTexts = supplied.clientTexts
        var tokens = 0
        let fitting = (history + supplied.history).reversed().prefix(limit.messages).prefix { message in
            tokens += TokenEstimate.tokens(in: message.content.utf8) + TokenEstimate.perMessage
            return tokens <= limit.tokens
        }
        context.history = fitting.reversed()
        return context
    }
}

/// The ids of one attempt of a turn.
public struct TurnIdentity: Sendable, Hashable {
    public var turnID: TurnID
    public var conversationID: ConversationID
    public var userMessageID: MessageID
    /// Id of the assistant's message, assigned before the message is saved.
    public var messageID: MessageID
    /// Number of the attempt to answer the same user message, from 1. A retry is the next one.
    public var attempt: Int

    public init(turnID: TurnID, conversationID: ConversationID, userMessageID: MessageID, messageID: MessageID, attempt: Int) {
        self.turnID = turnID
        self.conversationID = conversationID
        self.userMessageID = userMessageID
        self.messageID = messageID
        self.attempt = attempt
    }

    /// Hashes the turn's id only, for speed: a turn has few attempts, and the other ids follow from it.
    public func hash(into hasher: inout Hasher) { hasher.combine(turnID) }
}

/// Statements about a user that the prompt includes, by kind.
public struct ContextProfile: Sendable, Equatable {
    public var values: [String]
    public var goals: [String]
    public var situation: [String]

    public init(values: [String], goals: [String], situation: [String]) {
        self.values = values
        self.goals = goals
        self.situation = situation
    }

    public var isEmpty: Bool { values.isEmpty && goals.isEmpty && situation.isEmpty }
}

/// Author of a message in a conversation. Raw values are those of the database and the wire.
public enum MessageRole: String, Sendable, CaseIterable {
    case user, assistant
}

/// An earlier message of the conversation.
public struct HistoryMessage: Sendable, Equatable {
    public var role: MessageRole
    public var content: String

    public init(role: MessageRole, content: String) {
        self.role = role
        self.content = content
    }
}

/// The version of a creator's persona that a turn uses. Its texts are untrusted; see `DelimitedData`.
public struct Persona: Sendable, Equatable {
    public var id: PersonaID
    public var name: String
    /// nil: `DomainRouter` selects the domain.
    public var domain: Domain?
    public var tone: String?
    public var methodology: String?
    public var personality: String?

    public init(id: PersonaID, name: String, domain: Domain?, tone: String?, methodology: String?, personality: String?) {
        self.id = id
        self.name = name
        self.domain = domain
        self.tone = tone
        self.methodology = methodology
        self.personality = personality
    }
}
