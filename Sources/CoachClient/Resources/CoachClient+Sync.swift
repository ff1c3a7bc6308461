import Foundation
import GatewayAPI
import JSON

/// What an app keeps of a user's data for times without a network. An app implements it on its own storage; `MemoryCache` is an example.
public protocol CoachCache: Sendable {
    /// The position that `apply` saved last; nil for an empty cache.
    func position() async throws -> String?

    /// Applies a page of changes and saves the position, both or none.
    /// - Parameter reset: drop everything before: the changes are the first of all.
    func apply(_ changes: [SyncResource.Change], reset: Bool, position: String) async throws
}

extension CoachClient {
    /// Brings the cache up to date with every change since the last time, page by page. May be cancelled and repeated at any time. Returns the number
    /// of changes.
    @discardableResult
    public func synchronise(_ cache: some CoachCache, limit: Int = 100) async throws -> Int {
        var count = 0
        while true {
            let page: SyncResource = try await one(.init("sync", query: [("since", try await cache.position()), ("limit", String(limit))]))
            try await cache.apply(page.changes, reset: page.reset, position: page.next)
            count += page.changes.count
            if !page.hasMore { return count }
        }
    }
}

/// A cache that is gone with the process.
public actor MemoryCache: CoachCache {
    public private(set) var profile: ContextProfileResource?
    public private(set) var conversations: [UUID: ConversationResource] = [:]
    /// By conversation and id.
    public private(set) var messages: [UUID: [UUID: MessageResource]] = [:]
    public private(set) var personas: [UUID: PublishedPersonaResource] = [:]
    public private(set) var ownPersonas: [UUID: PersonaResource] = [:]
    private var saved: String?

    public init() {}

    public func position() -> String? { saved }

    public func apply(_ changes: [SyncResource.Change], reset: Bool, position: String) {
        if reset { (profile, conversations, messages, personas, ownPersonas) = (nil, [:], [:], [:], [:]) }
        for change in changes { apply(change) }
        saved = position
    }

    private func apply(_ change: SyncResource.Change) {
        switch change {
        case .profile(let profile): self.profile = profile
        case .conversation(let conversation):
            let isDeleted = conversation.deletedAt != nil
            conversations[conversation.id] = isDeleted ? nil : conversation
            if isDeleted { messages[conversation.id] = nil }
        case .message(let message, let conversation): messages[conversation, default: [:]][message.id] = message
        case .persona(let persona): personas[persona.id] = persona
        case .ownPersona(let persona): ownPersonas[persona.id] = persona
        case .personaRemoved(let id): (personas[id], ownPersonas[id]) = (nil, nil)
        }
    }
}
