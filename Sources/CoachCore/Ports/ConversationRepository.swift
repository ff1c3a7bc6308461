import Foundation

/// Port to a user's conversations and messages. `CoachStore` implements it on PostgreSQL, with the user's own database rights.
///
/// Closures throw `StoreFault`, and `Rejection` with `notFound` for a conversation that does not exist, is deleted, or belongs to another
/// user.
public struct ConversationRepository: Sendable {
    /// Most recently active first; with `updatedSince`, those changed after it, in the order of their changes, with deleted ones.
    public var list: @Sendable (Caller, PageRequest) async throws -> Page<ConversationRecord>
    public var get: @Sendable (Caller, ConversationID) async throws -> ConversationRecord
    /// Creates an empty conversation.
    public var create: @Sendable (Caller, ConversationDraft) async throws -> ConversationRecord
    /// Changes title or domain and returns the result.
    public var patch: @Sendable (Caller, ConversationID, ConversationPatch) async throws -> ConversationRecord
    /// Soft-deletes the conversation and returns its running turn, which the caller must stop.
    public var delete: @Sendable (Caller, ConversationID) async throws -> TurnID?
    /// Oldest first; with `updatedSince`, those changed after it, in the order of their changes.
    public var messages: @Sendable (Caller, ConversationID, PageRequest) async throws -> Page<MessageRecord>

    public init(
        list: @escaping @Sendable (Caller, PageRequest) async throws -> Page<ConversationRecord>,
        get: @escaping @Sendable (Caller, ConversationID) async throws -> ConversationRecord,
        create: @escaping @Sendable (Caller, ConversationDraft) async throws -> ConversationRecord,
        patch: @escaping @Sendable (Caller, ConversationID, ConversationPatch) async throws -> ConversationRecord,
        delete: @escaping @Sendable (Caller, ConversationID) async throws -> TurnID?,
        messages: @escaping @Sendable (Caller, ConversationID, PageRequest) async throws -> Page<MessageRecord>
    ) {
        self.list = list
        self.get = get
        self.create = create
        self.patch = patch
        self.delete = delete
        self.messages = messages
    }
}

/// Port to the per-user request rate limit, exact across all instances.
public struct RequestCounter: Sendable {
    /// Counts one request of the caller, and creates the user's row on their first one. Throws `StoreFault`, and `CountedRejection` when the
    /// limit is reached or the user is suspended. The limit does not apply to users with a stored safety level of 1 or more.
    public var take: @Sendable (Caller) async throws -> CountedRequest

    public init(take: @escaping @Sendable (Caller) async throws -> CountedRequest) { self.take = take }
}

/// The result of `take`: the request counts and is within the limit.
public struct CountedRequest: Sendable, Equatable {
    public var rate: RateLimit
    /// The caller's highest stored level over all personas.
    public var safetyLevel: SafetyLevel
    /// From the user's profile.
    public var region: Region

    public init(rate: RateLimit, safetyLevel: SafetyLevel, region: Region = .unknown) {
        self.rate = rate
        self.safetyLevel = safetyLevel
        self.region = region
    }
}

/// A rejected request, with the state of the caller's rate limit for the response headers.
public struct CountedRejection: Error, Sendable, Equatable {
    public var rejection: Rejection
    public var rate: RateLimit

    public init(rejection: Rejection, rate: RateLimit) {
        self.rejection = rejection
        self.rate = rate
    }
}

/// Parameters of a list request.
public struct PageRequest: Sendable, Equatable {
    /// Maximum number of items: 1…100.
    public var limit: Int
    /// `Page.nextCursor` of the previous page; nil for the first.
    public var cursor: String?
    /// `Changes.next` of an earlier page; excludes `cursor`.
    public var updatedSince: String?

    public init(limit: Int, cursor: String? = nil, updatedSince: String? = nil) {
        self.limit = limit
        self.cursor = cursor
        self.updatedSince = updatedSince
    }
}

/// The cursor of a list request is malformed or from another list.
public struct InvalidCursor: Error, Sendable, Equatable {
    public init() {}
}

/// The `updatedSince` of a list request is malformed.
public struct InvalidChangeToken: Error, Sendable, Equatable {
    public init() {}
}

/// Position of a synchronising client in the changes of a list.
public struct Changes: Sendable, Equatable {
    /// `updatedSince` of the request for later changes; opaque.
    public var next: String
    /// True when there are later changes already.
    public var hasMore: Bool
    /// True when the request's `updatedSince` is no longer valid. The page is then the first of the whole list.
    public var isReset: Bool

    public init(next: String, hasMore: Bool = false, isReset: Bool = false) {
        self.next = next
        self.hasMore = hasMore
        self.isReset = isReset
    }
}

/// One page of a list.
public struct Page<Element: Sendable>: Sendable {
    public var items: [Element]
    /// Opaque; nil on the last page.
    public var nextCursor: String?
    /// nil on pages requested by cursor, because rows of earlier pages may have changed meanwhile.
    public var changes: Changes?

    public init(items: [Element], nextCursor: String?, changes: Changes? = nil) {
        self.items = items
        self.nextCursor = nextCursor
        self.changes = changes
    }
}

extension Page: Equatable where Element: Equatable {}

/// Initial fields of a new conversation.
public struct ConversationDraft: Sendable, Equatable {
    public var title: String?
    public var domain: Domain?
    public var personaID: PersonaID?

    public init(title: String? = nil, domain: Domain? = nil, personaID: PersonaID? = nil) {
        self.title = title
        self.domain = domain
        self.personaID = personaID
    }
}

/// Changes to a conversation. nil leaves a field unchanged, `.some(nil)` clears it.
public struct ConversationPatch: Sendable, Equatable {
    public var title: String??
    public var domain: Domain??

    public init(title: String?? = nil, domain: Domain?? = nil) {
        self.title = title
        self.domain = domain
    }
}

/// A conversation as its owner sees it (CONTRACT §5).
public struct ConversationRecord: Sendable, Equatable {
    public var id: ConversationID
    public var title: String?
    public var domain: Domain?
    public var personaID: PersonaID?
    public var lastMessageAt: Date
    public var createdAt: Date
    public var updatedAt: Date
    /// Set for a deleted conversation, which lists report to synchronising clients only.
    public var deletedAt: Date?

    public init(
        id: ConversationID, title: String?, domain: Domain?, personaID: PersonaID?, lastMessageAt: Date, createdAt: Date, updatedAt: Date,
        deletedAt: Date?
    ) {
        self.id = id
        self.title = title
        self.domain = domain
        self.personaID = personaID
        self.lastMessageAt = lastMessageAt
        self.createdAt = createdAt
        self.updatedAt = updatedAt
        self.deletedAt = deletedAt
    }
}

/// A message as its owner sees it (CONTRACT §5).
public struct MessageRecord: Sendable, Equatable {
    /// State of an assistant's message; for a user's message the state of its answer.
    public enum Status: String, Sendable {
        case complete, stopped, interrupted, failed, superseded
    }

    public var id: MessageID
    public var role: MessageRole
    public var content: String
    public var status: Status
    /// Domain of its turn.
    public var domain: Domain?
    public var createdAt: Date
    public var updatedAt: Date
    public var turnID: TurnID?
    /// Order in the conversation, ascending.
    public var position: Int

    public init(
        id: MessageID, role: MessageRole, content: String, status: Status, domain: Domain?, createdAt: Date, updatedAt: Date,
        turnID: TurnID?,
        position: Int
    ) {
        self.id = id
        self.role = role
        self.content = content
        self.status = status
        self.domain = domain
        self.createdAt = createdAt
        self.updatedAt = updatedAt
        self.turnID = turnID
        self.position = position
    }
}
