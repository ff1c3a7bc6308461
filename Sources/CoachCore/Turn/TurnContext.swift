/// Everything `begin_turn` brought back in its one round trip; the user's message is saved when this exists.
public struct TurnContext: Sendable, Equatable {
    /// Ids of the turn and of the messages it writes.
    public var identity: TurnIdentity
    /// What the user told about himself; nil when there is nothing.
    public var profile: ContextProfile?
    /// Rolling summary of what history no longer holds.
    public var summary: String?
    /// Older messages first, without the new one, within the token budget.
    public var history: [HistoryMessage]
    /// The persona that speaks, when one was asked for or pinned by the conversation.
    public var persona: Persona?
    /// The stored safety state.
    public var safetyLevel: SafetyLevel
    /// The domain this conversation is in; nil at its start.
    public var conversationDomain: Domain?
    /// What the request pinned, also when this is a retry of it.
    public var pinnedDomain: Domain?
    /// Country and locale of the user's row, when known: the place for crisis resources.
    public var country: String?
    /// BCP 47.
    public var locale: String?

    /// Memberwise.
    public init(
        identity: TurnIdentity, profile: ContextProfile?, summary: String?, history: [HistoryMessage], persona: Persona?,
        safetyLevel: SafetyLevel, conversationDomain: Domain?, pinnedDomain: Domain? = nil, country: String?, locale: String?
    ) {
        self.identity = identity
        self.profile = profile
        self.summary = summary
        self.history = history
        self.persona = persona
        self.safetyLevel = safetyLevel
        self.conversationDomain = conversationDomain
        self.pinnedDomain = pinnedDomain
        self.country = country
        self.locale = locale
    }
}

/// The ids of a turn. `attempt` counts model calls on the same user message, from 1.
public struct TurnIdentity: Sendable, Hashable {
    public var turnID: TurnID
    public var conversationID: ConversationID
    public var userMessageID: MessageID
    /// The assistant's message, reserved before it exists.
    public var messageID: MessageID
    public var attempt: Int

    /// Memberwise.
    public init(turnID: TurnID, conversationID: ConversationID, userMessageID: MessageID, messageID: MessageID, attempt: Int) {
        self.turnID = turnID
        self.conversationID = conversationID
        self.userMessageID = userMessageID
        self.messageID = messageID
        self.attempt = attempt
    }
}

/// What the product remembers about a user: short statements in three lists.
public struct ContextProfile: Sendable, Equatable {
    public var values: [String]
    public var goals: [String]
    public var situation: [String]

    /// Memberwise.
    public init(values: [String], goals: [String], situation: [String]) {
        self.values = values
        self.goals = goals
        self.situation = situation
    }

    /// True when there is nothing to tell the model.
    public var isEmpty: Bool { values.isEmpty && goals.isEmpty && situation.isEmpty }
}

/// Who said something in a conversation.
public enum Speaker: String, Sendable {
    case user, assistant
}

/// One earlier message.
public struct HistoryMessage: Sendable, Equatable {
    public var speaker: Speaker
    public var content: String

    /// Memberwise.
    public init(speaker: Speaker, content: String) {
        self.speaker = speaker
        self.content = content
    }
}

/// A creator's persona. Every text in it is untrusted data to the model.
public struct Persona: Sendable, Equatable {
    public var id: PersonaID
    public var name: String
    /// nil: the persona follows the router.
    public var domain: Domain?
    public var tone: String?
    public var methodology: String?
    public var personality: String?

    /// Memberwise.
    public init(id: PersonaID, name: String, domain: Domain?, tone: String?, methodology: String?, personality: String?) {
        self.id = id
        self.name = name
        self.domain = domain
        self.tone = tone
        self.methodology = methodology
        self.personality = personality
    }
}
