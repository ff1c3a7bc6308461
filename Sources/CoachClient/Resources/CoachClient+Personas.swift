import Foundation
import GatewayAPI
import JSON

/// For users: the personas they may talk to.
extension CoachClient {
    /// Listed and redeemed personas.
    public func personas() -> Elements<PublishedPersonaResource> { elements(.init("personas")) }

    /// Redeems a share link: the user may talk to its persona from then on.
    public func redeem(shareToken: String) async throws -> PublishedPersonaResource {
        let body: JSONValue = ["share_token": .string(shareToken)]
        return try await one(.init("POST", "personas/redeem", body: body.bytes))
    }

    /// The public card of the persona behind a share link, before it is redeemed.
    public func sharedPersona(token: String) async throws -> PublishedPersonaResource {
        var request = ResourceRequest("")
        request.path = "p/\(token)"
        return try await one(request)
    }

    /// The picture of a persona: PNG, JPEG or WebP.
    public func avatar(of persona: UUID) async throws -> Data {
        Data(try await response(.init("personas/\(persona.canonicalText)/avatar"), accept: "image/*").body)
    }
}

/// For creators: their own personas.
extension CoachClient {
    public func ownPersonas() -> Elements<PersonaResource> { elements(.init("me/personas")) }

    public func createPersona(_ draft: PersonaDraft) async throws -> PersonaResource {
        try await one(.creation("personas", draft.json))
    }

    public func persona(_ id: UUID) async throws -> Versioned<PersonaResource> { try await versioned(.init(path(id))) }

    /// Replaces the draft; users get it when it is published. Throws `CoachError` with `preconditionFailed` when it has another version than `tag`.
    public func replacePersona(_ id: UUID, by draft: PersonaDraft, tag: String) async throws -> Versioned<PersonaResource> {
        try await versioned(ResourceRequest("PUT", path(id), body: draft.json.bytes).ifMatch(tag))
    }

    /// - Parameter tag: the version that is to be deleted, as of `persona(_:)`; nil: any. Likewise of the next two.
    public func deletePersona(_ id: UUID, tag: String? = nil) async throws {
        try await perform(ResourceRequest("DELETE", path(id)).ifMatch(tag), done: .notFound)
    }

    /// Publishes the draft as a new version. `visibility`: `link` or `listed`; nil keeps it. Throws `CoachError` with `effectUnknown` when the answer was
    /// lost and the draft has been edited.
    public func publishPersona(_ id: UUID, visibility: String? = nil, tag: String? = nil) async throws -> Versioned<PersonaResource> {
        let body: JSONValue = ["visibility": visibility.map { .string($0) } ?? .null]
        let request = ResourceRequest("POST", "\(path(id))/publish", body: body.bytes).ifMatch(tag)
        return try await versioned(request) { (current: PersonaResource) in
            guard current.status == "published", visibility == nil || visibility == current.visibility else { return .missing }
            // A draft that users do not have was edited before the publication, which then did not happen, or after it.
            return try await isPublished(current) ? .applied : .unknown
        }
    }

    /// Ends the publication; conversations keep their version.
    public func unpublishPersona(_ id: UUID, tag: String? = nil) async throws -> Versioned<PersonaResource> {
        try await versioned(ResourceRequest("POST", "\(path(id))/unpublish").ifMatch(tag)) { (current: PersonaResource) in
            // An operator withdraws a persona that is published or was.
            ["unpublished", "withdrawn"].contains(current.status) ? .applied : .missing
        }
    }

    /// Streams the answer of the draft to a message. Only its cost is kept.
    public func preview(_ persona: UUID, _ message: String, domain: String? = nil) -> AsyncThrowingStream<StreamEvent, any Error> {
        let request = ChatRequest(message: message, domain: domain, clientMessageID: IdempotencyKey(UUID.random().canonicalText))
        return stream("api/v1/\(path(persona))/preview", body: request.encode(), ResumeMachine(policy: configuration.retry))
    }

    /// The published versions, newest first.
    public func personaVersions(_ id: UUID) -> Elements<PersonaVersionResource> { elements(.init("\(path(id))/versions")) }

    public func publishedVersion(_ version: Int, of persona: UUID) async throws -> PersonaVersionResource {
        try await one(.init("\(path(persona))/versions/\(version)"))
    }

    /// The difference between two versions, or of a version and the draft.
    public func personaDifference(_ id: UUID, from: Int, to: Int? = nil) async throws -> DocumentDifferenceResource {
        try await one(.init("\(path(id))/diff", query: [("from", String(from)), ("to", to.map(String.init))]))
    }

    /// Makes an earlier version the draft again, and publishes it when the persona is published.
    public func rollBackPersona(_ id: UUID, to version: Int, tag: String) async throws -> Versioned<PersonaResource> {
        let body: JSONValue = ["version": .integer(Int64(version))]
        let request = ResourceRequest("POST", "\(path(id))/rollback", body: body.bytes).ifMatch(tag)
        return try await versioned(request) { (current: PersonaResource) in
            let wanted = try await publishedVersion(version, of: id)
            guard current.content.isSame(as: wanted.content) else { return .missing }
            if current.status != "published" { return .applied }
            return try await isPublished(current) ? .applied : .missing
        }
    }

    /// Figures of the last 30 days; nil below 20 users.
    public func personaStatistics(_ id: UUID) async throws -> PersonaStatisticsResource { try await one(.init("\(path(id))/stats")) }

    /// Sets the picture: PNG, JPEG or WebP of at most 512 KiB.
    public func setAvatar(_ image: Data, of persona: UUID) async throws {
        var request = ResourceRequest("PUT", "\(path(persona))/avatar", body: Array(image))
        request.headers["Content-Type"] = "application/octet-stream"
        try await perform(request)
    }

    public func deleteAvatar(of persona: UUID) async throws {
        try await perform(.init("DELETE", "\(path(persona))/avatar"), done: .notFound)
    }

    /// The persona as a character card in JSON, or inside a PNG picture.
    public func card(of persona: UUID, inPicture: Bool = false) async throws -> Data {
        Data(try await response(.init("\(path(persona))/card"), accept: inPicture ? "image/png" : "*/*").body)
    }

    /// Replaces the draft by a character card: JSON, or a PNG picture with a card in it. Throws `CoachError` with `effectUnknown` when the answer was lost
    /// and its repetition is stale: only the gateway knows what draft a card makes.
    public func importCard(_ card: Data, into persona: UUID, tag: String) async throws -> Versioned<PersonaResource> {
        try await versioned(ResourceRequest("PUT", "\(path(persona))/card", body: Array(card)).ifMatch(tag)) { _ in .unknown }
    }

    public func shareLinks(of persona: UUID) -> Elements<ShareLinkResource> { elements(.init("\(path(persona))/share-links")) }

    public func createShareLink(
        for persona: UUID, label: String? = nil, maximumUses: Int? = nil, expiresAt: Date? = nil
    ) async throws -> ShareLinkResource {
        let draft: JSONValue = [
            "label": label.map { .string($0) } ?? .null, "max_uses": maximumUses.map { .integer(Int64($0)) } ?? .null,
            "expires_at": expiresAt.map { .string(Timestamp($0).rfc3339) } ?? .null,
        ]
        return try await one(.creation("\(path(persona))/share-links", draft))
    }

    /// Revokes a link; users who redeemed it keep their access.
    public func revokeShareLink(_ link: UUID, of persona: UUID) async throws {
        try await perform(.init("DELETE", "\(path(persona))/share-links/\(link.canonicalText)"), done: .notFound)
    }

    /// Whether users have the draft.
    private func isPublished(_ persona: PersonaResource) async throws -> Bool {
        guard persona.status == "published", let version = persona.publishedVersion else { return false }
        return try await publishedVersion(version, of: persona.id).content.isSame(as: persona.content)
    }

    private func path(_ persona: UUID) -> String { "personas/\(persona.canonicalText)" }
}
