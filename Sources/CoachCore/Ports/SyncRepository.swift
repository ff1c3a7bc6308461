/// Port to the changes of all of a user's rows, for clients that keep a copy. `CoachStore` implements it on PostgreSQL.
public struct SyncRepository: Sendable {
    /// Changes after `since` (nil: everything), in the order of their commits. A row that changed several times is there once. Throws `StoreFault`
    /// and `InvalidChangeToken`.
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
}

/// A page of changes.
public struct SyncPage: Sendable, Equatable {
    public var items: [SyncChange]
    public var changes: Changes

    public init(items: [SyncChange], changes: Changes) {
        self.items = items
        self.changes = changes
    }
}
