import CoachCore
import Foundation
import GatewayAPI
import HTTPEdge
import Hummingbird
import JSON

/// Share links: `personas/{id}/share-links` for creators, `personas/redeem` and `conversations/{id}/persona-version` for users, and
/// `operator/personas/{id}/unpublish`.
public struct ShareLinkRoutes: Feature {
    private static let maximumUses = 1_000_000

    private let sharing: PersonaSharing
    private let personas: PersonaRepository

    public init(sharing: PersonaSharing, personas: PersonaRepository) {
        self.sharing = sharing
        self.personas = personas
    }

    public func register(on routes: RouteTable) {
        let users = routes.authenticated("Personas")
        registerLinks(users.require(.creator))
        users.post(
            "/api/v1/personas/redeem",
            .init(
                "Redeem a share link: the user may talk to its persona from then on",
                body: Self.redemption, response: .data(PublishedPersonaResource.schema))
        ) { request, context in
            let id = try await sharing.redeem(context.caller, try await request.read(Self.redemption))
            return .envelope(context, PublishedPersonaResource(try await personas.publishedOne(context.caller, id)))
        }
        let path = "/api/v1/conversations/{id}/persona-version"
        let answer = RouteResponse.data(ConversationPersonaResource.schema)
        users.get(path, .init("Get the version of the conversation's persona, and the newest one", response: answer)) { _, context in
            .envelope(context, ConversationPersonaResource(try await sharing.persona(context.caller, try conversation(context))))
        }
        users.post(path, .init("Go on with the newest version of the conversation's persona", response: answer)) { _, context in
            .envelope(context, ConversationPersonaResource(try await sharing.acceptVersion(context.caller, try conversation(context))))
        }
        routes.authenticated("Operators").require(.operator).post(
            "/api/v1/operator/personas/{id}/unpublish",
            .init(
                "Withdraw a persona, from conversations that have it, too",
                body: Self.withdrawal, response: .data(.any))
        ) { request, context in
            let id = try context.personaID
            let reason = try await request.read(Self.withdrawal)
            guard try await sharing.withdraw(context.caller, id, reason, context.requestID) else { throw GatewayError.notFound }
            return .envelope(context)
        }
    }

    private func registerLinks(_ creators: RouteGroup<AuthenticatedContext>) {
        let path = "/api/v1/personas/{id}/share-links"
        creators.get(
            path, .init("List the share links", parameters: PageQuery.cursorParameters, response: .list(ShareLinkResource.schema))
        ) { request, context in
            let page = try await sharing.links(context.caller, try context.personaID, try PageQuery.read(request))
            return .list(request, context, page, ShareLinkResource.init)
        }
        creators.create(path, "Create a share link", body: Self.draft) { draft, id, context in
            // Not when the body is read: a repeated request gets the link also when it has expired since, and another's persona is 404.
            if let expiry = draft.expiresAt, expiry <= Date() {
                _ = try await personas.get(context.caller, try context.personaID)
                throw GatewayError(.invalidInput, "expires_at must be in the future").naming(field: "expires_at")
            }
            return ShareLinkResource(try await sharing.create(context.caller, try context.personaID, ShareLinkID(id), draft))
        }
        creators.delete(
            "\(path)/{link_id}", .init("Revoke a share link; users who redeemed it keep their access", response: .data(.any))
        ) { _, context in
            try await sharing.revoke(context.caller, try context.personaID, try context.path("link_id", ShareLinkID.init(validating:)))
            return .envelope(context)
        }
    }

    private static let redemption = JSONBody("Redemption") { (body) throws(JSONFinding) in
        try body.required("share_token", .text(1...256))
    }

    private static let withdrawal = JSONBody("Withdrawal") { (body) throws(JSONFinding) in try body.required("reason", .text(1...1000)) }

    private static let draft = JSONBody(
        "ShareLinkDraft", examples: ["expires_at": "2099-01-01T00:00:00.000Z"]
    ) { (body) throws(JSONFinding) in
        let expiry: Timestamp? = try body.optional("expires_at")
        return ShareLinkDraft(
            label: try body.optional("label", .text(0...80)), maximumUses: try body.optional("max_uses", .integer(1...maximumUses)),
            expiresAt: expiry?.date)
    }

    private func conversation(_ context: AuthenticatedContext) throws(GatewayError) -> ConversationID {
        try context.path("id", ConversationID.init(validating:))
    }
}
