import CoachCore
import GatewayAPI
import HTTPEdge
import Hummingbird
import JSON

/// `/api/v1/personas/{id}/card`: import and export of character cards (V2 and V3, JSON).
public struct CharacterCardRoutes: Feature {
    private let personas: PersonaRepository

    public init(personas: PersonaRepository) { self.personas = personas }

    public func register(on routes: RouteTable) {
        let creators = routes.authenticated("Personas").require(.creator)
        let path = "/api/v1/personas/{id}/card"
        creators.get(
            path, .init("Export the draft as a character card, with all that was imported", response: .media("application/json"))
        ) { _, context in
            let id = try context.personaID
            let (record, card) = (try await personas.get(context.caller, id), try await personas.card(context.caller, id))
            return Response(bytes: CharacterCard.exported(record.content, imported: card).bytes, type: "application/json; charset=utf-8")
        }
        creators.put(
            path,
            .init(
                "Replace the draft by a character card; its system prompt is kept and never used", parameters: [.ifMatch],
                body: Schema.object([
                    .init("spec", .values(["chara_card_v2", "chara_card_v3"])), .init("data", .any.described("an object with `name`")),
                ]).named("CharacterCard"), response: PersonaRoutes.versioned)
        ) { request, context in
            let (id, expected) = (try context.personaID, try request.expectedVersion(required: true))
            let body = try await request.collectBytes(upTo: CharacterCard.maximumBytes)
            let card = try JSONReader.read(requestBody: body, CharacterCard.init)
            do {
                let record = try await personas.importCard(context.caller, id, card, expected.versions)
                return .envelope(context) { PersonaResource(record).write(to: &$0) }.tagged(record.tag, for: request)
            } catch is StaleVersion {
                let current = try await personas.get(context.caller, id)
                throw GatewayError.stale(PersonaResource(current), current.tag)
            }
        }
    }
}
