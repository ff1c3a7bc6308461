/// The order of a conversation's messages. Raw values are those of requests.
public enum MessageOrder: String, Sendable, CaseIterable {
    case oldestFirst = "asc"
    case newestFirst = "desc"
}

/// Port to a user's conversations and messages. `CoachStore` implements it on PostgreSQL, with the user's own database rights.
///
/// Closures throw `StoreFault`, and `Rejection` with `notFound` for a conversation that does not exist, is deleted, or belongs to another
/// user.
public struct ConversationRepository: Sendable {
    /// Most recently active first; with `updatedSince`, those changed after it, in the order of their changes, with deleted ones.
    public var list: @Sendable (Caller, ConversationSource, PageRequest) async throws -> Page<ConversationRecord>
    public var get: @Sendable (Caller, ConversationID) async throws -> ConversationRecord
    /// Creates an empty conversation, or returns the caller's that has the draft's id. Throws `notFound` when that is deleted.
    public var create: @Sendable (Caller, ConversationDraft) async throws -> ConversationRecord
    /// Changes title or domain and returns the result. Throws `StaleVersion` when it has none of the expected versions.
    public var patch: @Sendable (Caller, ConversationID, ConversationPatch) async throws -> ConversationRecord
    /// Soft-deletes the conversation and returns its running turn, which the caller must stop. Throws `StaleVersion` when it has none of the expected
    /// versions; nil: any.
    public var delete: @Sendable (Caller, ConversationID, [Int64]?) async throws -> TurnID?
    /// With `updatedSince`, those changed after it, in the order of their changes, whichever order is given.
    public var messages: @Sendable (Caller, ConversationID, MessageOrder, PageRequest) async throws -> Page<MessageRecord>

    public init(
        list: @escaping @Sendable (Caller, ConversationSource, PageRequest) async throws -> Page<ConversationRecord>,
        get: @escaping @Sendable (Caller, ConversationID) async throws -> ConversationRecord,
        create: @escaping @Sendable (Caller, ConversationDraft) async throws -> ConversationRecord,
        patch: @escaping @Sendable (Caller, ConversationID, ConversationPatch) async throws -> ConversationRecord,
        delete: @escaping @Sendable (Caller, ConversationID, [Int64]?) async throws -> TurnID?,
        messages: @escaping @Sendable (Caller, ConversationID, MessageOrder, PageRequest) async throws -> Page<MessageRecord>
    ) {
        self.list = list
        self.get = get
        self.create = create
        self.patch = patch
        self.delete = delete
        self.messages = messages
    }
}
