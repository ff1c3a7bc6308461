import Foundation
import GatewayAPI
import JSON

extension CoachClient {
    public func me() async throws -> MeResource { try await one(.init("me")) }

    public func updateMe(_ change: AccountChange) async throws -> MeResource {
        try await one(.init("PATCH", "me", body: change.json.bytes))
    }

    public func usage() async throws -> UsageResource { try await one(.init("me/usage")) }

    public func subscription() async throws -> SubscriptionResource { try await one(.init("me/subscription")) }

    /// The coaching domains.
    public func domains() -> Elements<DomainResource> { elements(.init("domains")) }

    // MARK: Context profile

    /// What the coach knows of the user; version 0 is an empty profile.
    public func contextProfile() async throws -> Versioned<ContextProfileResource> { try await versioned(.init("context-profile")) }

    /// Replaces the named fields of the version that the app has seen. Throws `CoachError` with
    /// `preconditionFailed` when another device was faster; nothing is changed then.
    public func patchContextProfile(_ change: ProfileChange, tag: String) async throws -> Versioned<ContextProfileResource> {
        try await versioned(ResourceRequest("PATCH", "context-profile", body: change.json.bytes).ifMatch(tag))
    }

    /// Replaces the whole profile: fields that are not named become empty. Throws as `patchContextProfile`.
    public func replaceContextProfile(_ profile: ProfileChange, tag: String) async throws -> Versioned<ContextProfileResource> {
        try await versioned(ResourceRequest("PUT", "context-profile", body: profile.json.bytes).ifMatch(tag))
    }

    /// Edits the profile: reads it, applies `change`, and begins again with the newer version when another device was faster. `change` returns
    /// the fields to replace, and may be called several times.
    public func editContextProfile(
        _ change: @Sendable (ContextProfileResource) -> ProfileChange
    ) async throws -> Versioned<ContextProfileResource> {
        // Another device would have to win five races.
        for _ in 0..<5 {
            let current = try await contextProfile()
            do {
                return try await patchContextProfile(change(current.value), tag: current.tag)
            } catch let error as CoachError where error.code == .gateway(.preconditionFailed) {}
        }
        throw CoachError.stale
    }

    /// Makes the version before the current one the current one again; repeated, it goes further back, to the empty version 0. Throws `CoachError` with
    /// `effectUnknown` when the answer was lost and its repetition is stale: no version tells which one it brought back.
    /// - Parameter tag: not `*`, with which the repetition of a lost request goes back once more.
    public func undoContextProfile(tag: String) async throws -> Versioned<ContextProfileResource> {
        try await versioned(ResourceRequest("POST", "context-profile/undo").ifMatch(tag)) { _ in .unknown }
    }

    /// The versions of the profile, newest first.
    public func contextProfileHistory() -> Elements<ContextProfileResource> { elements(.init("context-profile/history")) }

    // MARK: Consents and reports

    /// Every kind of consent with the user's latest decision.
    public func consents() -> Elements<ConsentResource> { elements(.init("me/consents")) }

    /// Records a decision about the text of a version that the user saw. `kind`: `ai_processing`, `memory` or `disclaimer`.
    public func decide(_ kind: String, granted: Bool, version: String) async throws -> ConsentResource {
        let decision: JSONValue = ["granted": .bool(granted), "version": .string(version)]
        return try await one(.init("PUT", "me/consents/\(kind)", body: decision.bytes))
    }

    /// Reports an answer that the user got. `reason`: `harmful`, `inaccurate`, `offensive`, `privacy`, `impersonation` or `other`.
    public func reportAnswer(_ message: UUID, reason: String, comment: String? = nil) async throws -> ReportResource {
        try await report(JSONMember("message_id", .string(message.canonicalText)), reason, comment)
    }

    /// Reports a persona.
    public func reportPersona(_ persona: UUID, reason: String, comment: String? = nil) async throws -> ReportResource {
        try await report(JSONMember("persona_id", .string(persona.canonicalText)), reason, comment)
    }

    private func report(_ subject: JSONMember, _ reason: String, _ comment: String?) async throws -> ReportResource {
        let members = [subject, JSONMember("reason", .string(reason)), JSONMember("comment", comment.map { .string($0) } ?? .null)]
        return try await one(.creation("reports", .object(members)))
    }

    // MARK: Help

    /// Crisis resources of a place: an ISO 3166-1 country, or that of a BCP 47 locale; international ones without either.
    public func crisisResources(country: String? = nil, locale: String? = nil) async throws -> [SafetyResource] {
        try await one(.init("resources", query: [("country", country), ("locale", locale)]))
    }

    // MARK: Leaving

    /// Everything of the user as a ZIP of JSON Lines files and pictures, as it arrives.
    public func export() async throws -> ResponseBytes {
        ResponseBytes(body: try await opened(.init("me/export"), accept: "application/zip").body)
    }

    /// Prepares the removal of the account: returns a confirmation that is valid once and for ten minutes.
    public func prepareRemoval() async throws -> String {
        do {
            try await perform(.init("DELETE", "me"))
        } catch let error as CoachError {
            if let confirmation = error.details?["confirmation"]?.string { return confirmation }
            throw error
        }
        throw CoachError.unreadable("the gateway removed the account without a confirmation")
    }

    /// Removes the account and everything in it. Every later request is rejected, also this one when it is repeated.
    public func removeAccount(confirmation: String) async throws {
        try await perform(.init("DELETE", "me", query: [("confirmation", confirmation)]), done: .forbidden)
    }
}

extension CoachError {
    fileprivate static let stale = CoachError(
        code: .gateway(.preconditionFailed), message: "the profile was changed again and again by another device",
        userMessage: "This changed in the meantime. Let me show you the latest.", action: .reload, retryable: true)
}
