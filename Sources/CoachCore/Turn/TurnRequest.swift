/// The validated body of a turn's request (CONTRACT §4).
public struct TurnRequest: Sendable, Equatable {
    /// 1…8,000 Unicode scalars.
    public var message: String
    /// nil: `begin_turn` creates a conversation.
    public var conversationID: ConversationID?
    public var personaID: PersonaID?
    /// Token of the share link that gives access to the persona.
    public var shareToken: String?
    /// The domain pinned by the client.
    public var pinnedDomain: Domain?
    /// `client_message_id` or `Idempotency-Key`: 1–128 printable ASCII characters.
    public var idempotencyKey: String?
    /// As the request gives it.
    public var region: Region

    public init(
        message: String, conversationID: ConversationID? = nil, personaID: PersonaID? = nil, shareToken: String? = nil,
        pinnedDomain: Domain? = nil, idempotencyKey: String? = nil, region: Region = .unknown
    ) {
        self.message = message
        self.conversationID = conversationID
        self.personaID = personaID
        self.shareToken = shareToken
        self.pinnedDomain = pinnedDomain
        self.idempotencyKey = idempotencyKey
        self.region = region
    }
}
