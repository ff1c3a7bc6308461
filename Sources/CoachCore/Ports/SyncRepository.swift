/// Port to the changes of all of a user's rows, for clients that keep a copy. `CoachStore` implements it on PostgreSQL.
public struct SyncRepository: Sendable {
    /// Changes after `since`; nil: all. First those of the user's own rows in the order of their commits, then those of personas in the order of theirs.
    /// A row that has changed several times comes once. Throws `StoreFault` and `InvalidChangeToken`.
    public var changes: @Sendable (Caller, _ since: String?, _ limit: Int) async throws -> SyncPage

    public init(changes: @escaping @Sendable (Caller, _ since: String?, _ limit: Int) async throws -> SyncPage) {
        self.changes = changes
    }
}

/// One changed row in its current state.
public enum SyncChange: Sendable, Equatable {
    case profile(ContextProfileVersion)
    /// A deleted one has `deletedAt`; the client then removes its messages too.
    case conversation(ConversationRecord)
    case message(MessageRecord)
    /// A persona of another creator that the user may talk to.
    case persona(PublishedPersona)
    /// The draft of one of the user's own personas.
    case ownPersona(PersonaRecord)
    /// A persona that is deleted, or with which the user may not begin a conversation any more.
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
