import ChatAPI
import CoachCore
import GatewayAPI
import HTTPEdge
import Hummingbird

/// `GET /api/v1/sync`: every change of the user's profile, conversations, messages and personas since a token, in the order of commits.
public struct SyncRoutes: Feature {
    private let sync: SyncRepository

    public init(sync: SyncRepository) { self.sync = sync }

    public func register(on routes: RouteTable) {
        routes.authenticated("Synchronisation").get(
            "/api/v1/sync",
            .init(
                """
                List what changed since an earlier answer, deleted conversations and personas included; without `since` everything: the user's \
                own rows in the order of their changes, then personas in an order of their own
                """,
                parameters: [.init("since", in: .query, .text), PageQuery.limitParameter], response: .data(SyncResource.schema))
        ) { request, context in
            let limit = try PageQuery.limit(request)
            let page = try await sync.changes(context.caller, try request.changeToken(.since), limit)
            return .envelope(context, SyncResource(page))
        }
    }
}

extension SyncResource {
    fileprivate init(_ page: SyncPage) {
        self.init(
            changes: page.items.map { item in
                switch item {
                case .profile(let profile): .profile(ContextProfileResource(profile))
                case .conversation(let conversation): .conversation(ConversationResource(conversation))
                case .message(let message): .message(MessageResource(message), conversationID: message.conversationID.uuid)
                case .persona(let persona): .persona(PublishedPersonaResource(persona))
                case .ownPersona(let persona): .ownPersona(PersonaResource(persona))
                case .personaRemoved(let id): .personaRemoved(id.uuid)
                }
            }, next: page.position.sealedNext, hasMore: page.position.hasMore, reset: page.position.isReset)
    }
}
