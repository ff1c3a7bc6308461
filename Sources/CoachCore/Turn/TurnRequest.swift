/// The validated body of a turn's request (CONTRACT §4).
public struct TurnRequest: Sendable, Equatable {
    /// The longest message, in Unicode scalars (CONTRACT §2).
    public static let maximumMessageScalars = 8_000

    /// 1…`maximumMessageScalars`.
    public var message: String
    /// nil: `begin_turn` creates a conversation.
    public var conversationID: ConversationID?
    public var personaID: PersonaID?
    /// Names the persona when there is no `personaID`.
    public var personaSlug: String?
    /// Token of the share link that gives access to the persona.
    public var shareToken: String?
    /// The domain pinned by the client.
    public var pinnedDomain: Domain?
    /// `client_message_id` or `Idempotency-Key`: 1–128 printable ASCII characters.
    public var idempotencyKey: String?
    /// As the request gives it.
    public var region: Region
    /// The source of a conversation that begins with this turn.
    public var source: ConversationSource
    /// nil: the client sends the message alone.
    public var supplied: SuppliedContext?

    public init(
        message: String, conversationID: ConversationID? = nil, personaID: PersonaID? = nil, personaSlug: String? = nil,
        shareToken: String? = nil, pinnedDomain: Domain? = nil, idempotencyKey: String? = nil, region: Region = .unknown,
        source: ConversationSource = .app, supplied: SuppliedContext? = nil
    ) {
        self.message = message
        self.conversationID = conversationID
        self.personaID = personaID
        self.personaSlug = personaSlug
        self.shareToken = shareToken
        self.pinnedDomain = pinnedDomain
        self.idempotencyKey = idempotencyKey
        self.region = region
        self.source = source
        self.supplied = supplied
    }

    /// The stored level, raised to `concern` when the earlier messages that the client has sent show concern.
    public func level(stored: SafetyLevel) -> SafetyLevel { max(stored, supplied?.showsConcern == true ? .concern : .calm) }
}

/// The kind of client that began a conversation. Raw values are those of `conversations.source`.
public enum ConversationSource: String, Sendable, CaseIterable {
    case app
    /// Through the OpenAI-compatible routes (CONTRACT §7).
    case openai
    /// The draft of the persona answers its creator, and nothing is kept but the cost.
    case preview

    /// The kinds whose conversations are in a user's lists.
    public static let listed: [ConversationSource] = [.app, .openai]
}

/// The data that a client sends beside the newest message when it keeps the conversation itself.
public struct SuppliedContext: Sendable, Equatable {
    /// Earlier messages, oldest first.
    public var history: [HistoryMessage]
    /// Texts of roles `system` and `developer`. Untrusted: data of the user, never instructions.
    public var clientTexts: [String]
    /// An earlier message of the user has risk tier 1 or more.
    public var showsConcern: Bool

    public init(history: [HistoryMessage], clientTexts: [String], showsConcern: Bool = false) {
        self.history = history
        self.clientTexts = clientTexts
        self.showsConcern = showsConcern
    }
}
