import Foundation
import GatewayAPI
import JSON

extension CoachClient {
    /// Lists the user's conversations, most recently active first.
    /// - Parameters:
    ///   - source: `app`, or `openai` for those of clients that speak that protocol.
    ///   - updatedSince: `nextUpdatedSince` of an earlier page: lists only later changes, including deleted conversations. Excludes `cursor`.
    ///   - limit: elements of a page, 1–100.
    ///   - cursor: `nextCursor` of the previous page; nil for the first page.
    public func conversations(
        from source: String? = nil, updatedSince: String? = nil, limit: Int = 20, cursor: String? = nil
    ) async throws -> Page<ConversationResource> {
        try await page(.init("conversations", query: [("source", source), ("updated_since", updatedSince)]), limit: limit, cursor: cursor)
    }

    /// All of the user's conversations, most recently active first.
    public func allConversations() -> Elements<ConversationResource> { elements(.init("conversations")) }

    /// Creates an empty conversation.
    /// - Parameters:
    ///   - id: of one that the app began without a network. The same again returns the user's conversation that has it; that of a deleted one is an error.
    ///   - ephemeral: it is removed a day after its last message, and never summarised.
    public func createConversation(
        id: UUID? = nil, title: String? = nil, domain: String? = nil, persona: UUID? = nil, ephemeral: Bool = false
    ) async throws -> ConversationResource {
        let draft: JSONValue = [
            "id": id.map { .string($0.canonicalText) } ?? .null, "title": title.map { .string($0) } ?? .null,
            "domain": domain.map { .string($0) } ?? .null, "persona_id": persona.map { .string($0.canonicalText) } ?? .null,
            "ephemeral": .bool(ephemeral),
        ]
        return try await one(.creation("conversations", draft))
    }

    public func conversation(_ id: UUID) async throws -> Versioned<ConversationResource> {
        try await versioned(.init("conversations/\(id.canonicalText)"))
    }

    /// Throws `CoachError` with `preconditionFailed` when the conversation has another version than `tag`.
    public func changeConversation(_ id: UUID, _ change: ConversationChange, tag: String) async throws -> Versioned<ConversationResource> {
        try await versioned(ResourceRequest("PATCH", "conversations/\(id.canonicalText)", body: change.json.bytes).ifMatch(tag))
    }

    /// Deletes a conversation and stops its turn.
    /// - Parameter tag: the version that is to be deleted, as of `conversation(_:)`; nil: any.
    public func deleteConversation(_ id: UUID, tag: String? = nil) async throws {
        try await perform(ResourceRequest("DELETE", "conversations/\(id.canonicalText)").ifMatch(tag), done: .notFound)
    }

    /// Lists the messages of a conversation, oldest first.
    /// - Parameters:
    ///   - newestFirst: in the other order, of all pages alike. Excludes `updatedSince`.
    ///   - updatedSince: `nextUpdatedSince` of an earlier page: lists only later changes. Excludes `cursor`.
    ///   - limit: elements of a page, 1–100.
    ///   - cursor: `nextCursor` of the previous page; nil for the first page.
    public func messages(
        of conversation: UUID, newestFirst: Bool = false, updatedSince: String? = nil, limit: Int = 20, cursor: String? = nil
    ) async throws -> Page<MessageResource> {
        try await page(Self.messages(of: conversation, newestFirst, [("updated_since", updatedSince)]), limit: limit, cursor: cursor)
    }

    /// All messages of a conversation, oldest first.
    public func allMessages(of conversation: UUID, newestFirst: Bool = false) -> Elements<MessageResource> {
        elements(Self.messages(of: conversation, newestFirst))
    }

    private static func messages(of conversation: UUID, _ newestFirst: Bool, _ query: [(String, String?)] = []) -> ResourceRequest {
        .init("conversations/\(conversation.canonicalText)/messages", query: [("order", newestFirst ? "desc" : nil)] + query)
    }

    /// The user's messages with all words of a query, newest first. `"…"` is a phrase, `-` excludes a word.
    public func searchMessages(_ query: String) -> Elements<FoundMessageResource> {
        elements(.init("messages/search", query: [("q", query)]))
    }

    /// The version of the conversation's persona, and the newest one.
    public func personaVersion(of conversation: UUID) async throws -> ConversationPersonaResource {
        try await one(.init("conversations/\(conversation.canonicalText)/persona-version"))
    }

    /// Goes on with the newest version of the conversation's persona.
    public func acceptPersonaVersion(of conversation: UUID) async throws -> ConversationPersonaResource {
        try await one(.init("POST", "conversations/\(conversation.canonicalText)/persona-version"))
    }
}
