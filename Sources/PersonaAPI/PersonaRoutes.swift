import CoachCore
import GatewayAPI
import HTTPEdge
import Hummingbird
import JSON

/// `/api/v1/personas`: drafts, publication and versions, for creators; the list of those that a user may talk to, for users.
public struct PersonaRoutes: Feature {
    private static let path = "/api/v1/personas"

    private let personas: PersonaRepository
    private let tiers: LiveValue<TierBook>

    public init(personas: PersonaRepository, tiers: LiveValue<TierBook>) {
        self.personas = personas
        self.tiers = tiers
    }

    public func register(on routes: RouteTable) {
        let users = routes.authenticated("Personas")
        let creators = users.require(.creator)
        registerLists(on: users, creators)
        registerDrafts(on: creators)
        registerPublication(on: creators)
    }

    private func registerLists(on users: RouteGroup<AuthenticatedContext>, _ creators: RouteGroup<AuthenticatedContext>) {
        users.get(
            Self.path,
            .init(
                "List the published personas that the user may talk to: listed and redeemed ones", parameters: PageQuery.cursorParameters,
                response: .list(PublishedPersonaResource.schema))
        ) { request, context in
            .list(
                request, context, try await personas.published(context.caller, try PageQuery.read(request)), PublishedPersonaResource.init)
        }
        creators.get(
            "/api/v1/me/personas",
            .init("List the creator's own personas", parameters: PageQuery.cursorParameters, response: .list(PersonaResource.schema))
        ) { request, context in
            .list(request, context, try await personas.own(context.caller, try PageQuery.read(request)), PersonaResource.init)
        }
    }

    private func registerDrafts(on creators: RouteGroup<AuthenticatedContext>) {
        creators.create(
            Self.path, "Create a persona as a draft", body: Self.draft, versioned: PersonaRecord.versioned
        ) { content, id, context in try await personas.create(context.caller, PersonaID(id), content) }
        creators.get("\(Self.path)/{id}", .init("Get the draft of a persona", response: Self.versioned)) { request, context in
            respond(request, context, try await personas.get(context.caller, try context.personaID))
        }
        creators.put(
            "\(Self.path)/{id}",
            .init(
                "Replace the draft; users get it when it is published", parameters: [.ifMatch], body: Self.draft, response: Self.versioned)
        ) { request, context in
            let id = try context.personaID
            return try await PersonaRecord.versioned.edit(
                request, context, current: { try await personas.get(context.caller, id) }
            ) { expectedVersions in
                let content = try await request.read(Self.draft)
                return try await personas.put(context.caller, id, content, expectedVersions)
            }
        }
        creators.delete("\(Self.path)/{id}", .init("Delete a persona", parameters: [.optionalIfMatch], response: .data(.any))) {
            request, context in
            let id = try context.personaID
            let expected = try request.expectedVersion(required: false)
            return try await PersonaRecord.versioned.reportingStale(current: { try await personas.get(context.caller, id) }) {
                try await personas.delete(context.caller, id, expected.versions)
                return .envelope(context)
            }
        }
    }

    private func registerPublication(on creators: RouteGroup<AuthenticatedContext>) {
        creators.post(
            "\(Self.path)/{id}/publish",
            .init(
                "Publish the draft as a new version", parameters: [.optionalIfMatch], body: Self.publication, response: Self.versioned)
        ) { try await publish($0, $1) }
        creators.post(
            "\(Self.path)/{id}/unpublish",
            .init("End the publication; conversations keep their version", parameters: [.optionalIfMatch], response: Self.versioned)
        ) { request, context in
            let id = try context.personaID
            let expected = try request.expectedVersion(required: false)
            return try await PersonaRecord.versioned.reportingStale(current: { try await personas.get(context.caller, id) }) {
                try await personas.unpublish(context.caller, id, expected.versions, context.requestID)
                return respond(request, context, try await personas.get(context.caller, id))
            }
        }
        creators.get(
            "\(Self.path)/{id}/stats",
            .init("Get figures of the last 30 days; null below 20 users", response: .data(PersonaStatisticsResource.schema))
        ) { _, context in
            .envelope(context, PersonaStatisticsResource(try await personas.statistics(context.caller, try context.personaID)))
        }
    }

    static let versioned = RouteResponse.data(PersonaResource.schema).versioned

    private static let draft: JSONBody<PersonaContent> = {
        let setting = """
            a text, a list of texts, or an object of texts; at most \(PersonaContent.settingParts) texts with \(PersonaContent.settingLimit) \
            characters together, joined as in a prompt: "; " between texts, ": " after the names of an object
            """
        return JSONBody(
            "PersonaDraft", descriptions: Dictionary(uniqueKeysWithValues: PersonaContent.promptMembers.map { ($0, setting) }),
            examples: ["languages": ["en"]], PersonaContent.init)
    }()

    private static let publication = JSONBody("Publication", mayBeEmpty: true) { (body) throws(JSONFinding) in
        try body.optional("visibility", .choice) as PersonaVisibility?
    }

    private func publish(_ request: Request, _ context: AuthenticatedContext) async throws -> Response {
        let id = try context.personaID
        let expected = try request.expectedVersion(required: false)
        let visibility = try await request.read(Self.publication)
        return try await PersonaRecord.versioned.reportingStale(current: { try await personas.get(context.caller, id) }) {
            do {
                guard try await publishValidated(id, visibility, expected, context) else {
                    throw GatewayError(.forbidden, "an operator has withdrawn this persona")
                }
            } catch let rejection as Rejection {
                throw GatewayError(rejection, offering: tiers.current)
            }
            return respond(request, context, try await personas.get(context.caller, id))
        }
    }

    /// Publishes exactly the draft that was validated: what came in behind PostgREST was not, also while this runs.
    /// Without a visibility a published persona keeps its own, and another one is for those with a link.
    private func publishValidated(
        _ id: PersonaID, _ visibility: PersonaVisibility?, _ expected: ExpectedVersion, _ context: AuthenticatedContext
    ) async throws -> Bool {
        while true {
            let draft = try await personas.get(context.caller, id)
            try expected.require(Int64(draft.revision))
            try PersonaContent.validate(draft.content)
            do {
                let visibility = visibility ?? (draft.status == .published ? nil : .link)
                return try await personas.publish(context.caller, id, draft.revision, visibility, context.requestID)
            } catch is StaleVersion {
                // Edited meanwhile; a creator who edits without end is limited by their requests.
                try Task.checkCancellation()
            }
        }
    }

    private func respond(_ request: Request, _ context: AuthenticatedContext, _ record: PersonaRecord) -> Response {
        PersonaRecord.versioned.response(record, request, context)
    }
}
