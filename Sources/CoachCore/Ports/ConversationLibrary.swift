import Foundation

/// A user's conversations and their messages. `CoachStore` implements it on PostgreSQL, as the user himself.
///
/// Closures throw `StoreFault`, and `Refusal` `notFound` for what is somebody else's, deleted, or nobody's.
public struct ConversationLibrary: Sendable {
    /// Most recently active first; with `updatedSince`, those changed after it in the order of their changes, deleted ones included.
    public var list: @Sendable (Caller, PageRequest) async throws -> Page<ConversationRecord>
    public var get: @Sendable (Caller, ConversationID) async throws -> ConversationRecord
    /// A new, empty conversation.
    public var create: @Sendable (Caller, ConversationDraft) async throws -> ConversationRecord
    /// Title and domain.
    public var patch: @Sendable (Caller, ConversationID, ConversationPatch) async throws -> ConversationRecord
    /// Puts it away; the turn that still runs in it is returned, to be stopped.
    public var delete: @Sendable (Caller, ConversationID) async throws -> TurnID?
    /// Oldest first; with `updatedSince`, those changed after it in the order of their changes.
    public var messages: @Sendable (Caller, ConversationID, PageRequest) async throws -> Page<MessageRecord>

    /// Memberwise.
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

/// Takes one request of the caller's minute, exactly counted over all instances, and makes his row when he is new. Throws `StoreFault`,
/// and `CountedRefusal` when there is none left or he is suspended. Who is in danger always has one left.
public struct RequestCounter: Sendable {
    public var take: @Sendable (Caller) async throws -> CountedRequest

    /// Memberwise.
    public init(take: @escaping @Sendable (Caller) async throws -> CountedRequest) { self.take = take }
}

/// A request that was counted.
public struct CountedRequest: Sendable, Equatable {
    public var rate: RateLimit
    /// What is stored of the caller, whichever persona heard of it.
    public var safetyLevel: SafetyLevel
    /// Where his profile says that he is.
    public var country: String?
    public var locale: String?

    /// Memberwise.
    public init(rate: RateLimit, safetyLevel: SafetyLevel, country: String? = nil, locale: String? = nil) {
        self.rate = rate
        self.safetyLevel = safetyLevel
        self.country = country
        self.locale = locale
    }
}

/// A refusal that knows the caller's budget.
public struct CountedRefusal: Error, Sendable, Equatable {
    public var refusal: Refusal
    public var rate: RateLimit

    /// Memberwise.
    public init(refusal: Refusal, rate: RateLimit) {
        self.refusal = refusal
        self.rate = rate
    }
}

/// Which part of a list is wanted.
public struct PageRequest: Sendable, Equatable {
    /// 1…100.
    public var limit: Int
    /// Of the page before; nil for the first.
    public var cursor: String?
    /// The `Changes.next` of an earlier page; then without a cursor.
    public var updatedSince: String?

    /// Memberwise.
    public init(limit: Int, cursor: String? = nil, updatedSince: String? = nil) {
        self.limit = limit
        self.cursor = cursor
        self.updatedSince = updatedSince
    }
}

/// The cursor of a list request was not made by this list.
public struct InvalidCursor: Error, Sendable, Equatable {
    /// Nothing to say.
    public init() {}
}

/// The `updatedSince` of a list request has not the form of one.
public struct InvalidChangeToken: Error, Sendable, Equatable {
    /// Nothing to say.
    public init() {}
}

/// How far a client that keeps a copy of a list has come with its changes.
public struct Changes: Sendable, Equatable {
    /// What asks for the changes after those of this page; opaque.
    public var next: String
    /// There are some already.
    public var hasMore: Bool
    /// The request's `updatedSince` means nothing here any more: the page is the first of the whole list.
    public var isReset: Bool

    /// Memberwise.
    public init(next: String, hasMore: Bool = false, isReset: Bool = false) {
        self.next = next
        self.hasMore = hasMore
        self.isReset = isReset
    }
}

/// One page of a list, and where the next begins.
public struct Page<Element: Sendable>: Sendable {
    public var items: [Element]
    /// Opaque; nil on the last page.
    public var nextCursor: String?
    /// Nil on a page that was asked for by a cursor: what changed meanwhile may be on a page before it.
    public var changes: Changes?

    /// Memberwise.
    public init(items: [Element], nextCursor: String?, changes: Changes? = nil) {
        self.items = items
        self.nextCursor = nextCursor
        self.changes = changes
    }
}

extension Page: Equatable where Element: Equatable {}

/// What a new conversation may be given.
public struct ConversationDraft: Sendable, Equatable {
    public var title: String?
    public var domain: Domain?
    public var personaID: PersonaID?

    /// Everything is optional.
    public init(title: String? = nil, domain: Domain? = nil, personaID: PersonaID? = nil) {
        self.title = title
        self.domain = domain
        self.personaID = personaID
    }
}

/// What a patch changes: nil leaves a field as it is, `.some(nil)` empties it.
public struct ConversationPatch: Sendable, Equatable {
    public var title: String??
    public var domain: Domain??

    /// Changes nothing by default.
    public init(title: String?? = nil, domain: Domain?? = nil) {
        self.title = title
        self.domain = domain
    }
}

/// A conversation as its owner may see it (CONTRACT §5).
public struct ConversationRecord: Sendable, Equatable {
    public var id: ConversationID
    public var title: String?
    public var domain: Domain?
    public var personaID: PersonaID?
    public var lastMessageAt: Date
    public var createdAt: Date
    public var updatedAt: Date
    /// Set: a tombstone for clients that synchronise.
    public var deletedAt: Date?

    /// Memberwise.
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

/// A message as its owner may see it (CONTRACT §5).
public struct MessageRecord: Sendable, Equatable {
    /// How far an answer came; for a user's message whether it has one.
    public enum Status: String, Sendable {
        case complete, stopped, interrupted, failed, superseded
    }

    public var id: MessageID
    public var speaker: Speaker
    public var content: String
    public var status: Status
    /// Of the turn it belongs to.
    public var domain: Domain?
    public var createdAt: Date
    public var updatedAt: Date
    public var turnID: TurnID?
    /// Its place in the conversation.
    public var position: Int

    /// Memberwise.
    public init(
        id: MessageID, speaker: Speaker, content: String, status: Status, domain: Domain?, createdAt: Date, updatedAt: Date,
        turnID: TurnID?,
        position: Int
    ) {
        self.id = id
        self.speaker = speaker
        self.content = content
        self.status = status
        self.domain = domain
        self.createdAt = createdAt
        self.updatedAt = updatedAt
        self.turnID = turnID
        self.position = position
    }
}
