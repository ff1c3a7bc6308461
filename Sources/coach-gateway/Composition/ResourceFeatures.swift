import AccountAPI
import CoachCore
import CoachStore
import HTTPEdge
import OperatorAPI
import PersonaAPI
import PostgresClient

/// The routes of users, creators and operators that need nothing of the running turns but the database.
struct ResourceFeatures {
    let databases: Databases
    let configuration: GatewayConfiguration
    let documents: EditableDocuments
    let documentStore: VersionedDocuments
    let figureEvents: FigureEvents

    var all: [any Feature] { account + creators + operators }

    private var database: PostgresClient { databases.resources }

    private var tiers: @Sendable () -> TierBook {
        let live = documents.tiers
        return { live.current }
    }

    var personas: PersonaRepository { .postgres(client: database, tiers: tiers) }

    private var account: [any Feature] {
        let accounts = AccountRepository.postgres(client: database, tiers: tiers)
        let consents = ConsentRepository.postgres(client: database)
        let profiles = ContextProfileRepository.postgres(client: database)
        let (required, coaching) = (configuration.requiredConsents, documents.coaching)
        let subscriptions = SubscriptionRoutes(
            inbox: .postgres(client: database, includingSandbox: configuration.webhooks.includesSandbox))
        return [
            subscriptions, AccountRoutes(accounts: accounts), DomainRoutes { coaching.current.domains },
            ConsentRoutes(consents: consents, required: required),
            ContextProfileRoutes(profiles: profiles, consents: consents, required: required),
            ExportRoutes(
                accounts: accounts, profiles: profiles, contents: .postgres(client: databases.long), subscriptions: subscriptions),
            SearchRoutes(messages: .postgres(client: databases.long)), ReportRoutes(reports: .postgres(client: database)),
            SyncRoutes(sync: .postgres(client: database)),
        ]
    }

    private var creators: [any Feature] {
        let (sharing, avatars) = (PersonaSharing.postgres(client: database), PersonaAvatars.postgres(client: database))
        return [
            PersonaRoutes(personas: personas, tiers: documents.tiers), PersonaVersionRoutes(personas: personas),
            CharacterCardRoutes(personas: personas, avatars: avatars), AvatarRoutes(avatars: avatars),
            ShareLinkRoutes(sharing: sharing, personas: personas),
            PublicPersonaRoutes(sharing: sharing, avatars: avatars, links: configuration.appLinks),
        ]
    }

    private var operators: [any Feature] {
        [
            DocumentRoutes(
                path: "domain-configs", title: "domain configurations", type: documents.domains, documents: documentStore,
                replay: documents.replay(on: .postgres(client: databases.long))),
            DocumentRoutes(path: "prices", title: "prices", type: documents.priceList, documents: documentStore),
            DocumentRoutes(path: "limits", title: "tiers and limits", type: documents.limits, documents: documentStore),
            DocumentRoutes(path: "alert-rules", title: "rules of alerts", type: documents.alerts, documents: documentStore),
            AuditRoutes(log: .postgres(client: databases.long)), UserAdministrationRoutes(users: .postgres(client: databases.long)),
            FigureRoutes(figures: .postgres(client: databases.long).shared(following: .postgres(client: databases.long))),
            SafetyFigureRoutes(reports: .postgres(client: databases.long)),
            EventRoutes(events: figureEvents),
            SubscriptionAdministrationRoutes(
                subscriptions: .postgres(client: databases.long, includingSandbox: configuration.webhooks.includesSandbox)),
            DashboardRoutes(charts: ChartLibrary.debian),
        ]
    }
}
