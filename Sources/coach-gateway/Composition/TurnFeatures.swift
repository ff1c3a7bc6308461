import ChatAPI
import CoachCore
import CoachStore
import HTTPEdge
import PostgresClient

/// The routes of turns and of the conversations that they belong to.
struct TurnFeatures {
    let coachingParts: CoachingParts
    let documents: EditableDocuments
    let models: ModelAccess
    let turns: TurnParts
    let counter: RequestCounter
    let database: PostgresClient
    let personas: PersonaRepository

    var all: [any Feature] {
        let chat = ChatRoutes(
            coaching: documents.coaching, repository: turns.repository, records: turns.records, recovery: turns.recovery,
            counter: counter, tiers: documents.tiers, models: models.models, judge: models.judge, budgets: turns.budgets,
            finalizer: turns.finalizer, registry: turns.registry, remoteTurns: turns.remoteTurns, recentDanger: turns.recentDanger,
            admission: turns.admission, streamLoop: turns.streamLoop, drafts: personas.get)
        let names = ModelNames(personas: personas)
        return [
            chat, ChatCompletionRoutes(chat: chat, names: names),
            ResponseRoutes(chat: chat, names: names, responses: .postgres(client: database)),
            ModelRoutes(personas: personas),
            SafetyRoutes(coaching: documents.coaching, safetyProtocol: coachingParts.safetyProtocol),
            ConversationRoutes(conversations: .postgres(client: database), registry: turns.registry, recovery: turns.recovery),
        ]
    }
}
