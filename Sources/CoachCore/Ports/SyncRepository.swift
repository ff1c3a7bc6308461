/// Port to the changes of all of a user's rows, for clients that keep a copy. `CoachStore` implements it on PostgreSQL.
public struct SyncRepository: Sendable {
    /// Changes after `since` (nil: everything): those of the user's own rows in the order of their commits, then those of personas in the order of
    /// theirs. A row that changed several times is there once. Throws `StoreFault` and `InvalidChangeToken`.
    public var changes: @Sendable (Caller, _ since: String?, _ limit: Int) async throws -> SyncPage

    public init(changes: @escaping @Sendable (Caller, _ since: String?, _ limit: Int) async throws -> SyncPage) {
        self.changes = changes
    }
}

/// One changed row in its current state.
public enum SyncChange: Sendable, Equatable {
    case profile(ContextProfileVersion)
    /// With `deletedAt` for a deleted one, of which the client drops the messages, too.
    case conversation(ConversationRecord)
    case message(MessageRecord, in: ConversationID)
    /// One that the user may talk to, of another creator.
    case persona(PublishedPersona)
    /// The draft of one of the user's own.
    case ownPersona(PersonaRecord)
    /// One that is gone, or that the user may begin no conversation with any more.
    case personaRemoved(PersonaID)
}

/// A page of changes.
public struct SyncPage: Sendable, Equatable {
    public var items: [SyncChange]
    public var position: SyncPosition

    public init(items: [SyncChange], position: SyncPosition) {
        self.items = items
        self.position = position
    }
}
