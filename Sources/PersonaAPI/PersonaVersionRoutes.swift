import CoachCore
import GatewayAPI
import HTTPEdge
import Hummingbird
import JSON

/// `/api/v1/personas/{id}/versions`, `/diff` and `/rollback`: what was published, for its creator.
public struct PersonaVersionRoutes: Feature {
    private let personas: PersonaRepository

    public init(personas: PersonaRepository) { self.personas = personas }

    public func register(on routes: RouteTable) {
        let creators = routes.authenticated("Personas").require(.creator)
        let path = "/api/v1/personas/{id}"
        creators.get(
            "\(path)/versions",
            .init(
                "List the published versions, newest first", parameters: PageQuery.cursorParameters,
                response: .list(PersonaVersionResource.schema))
        ) { request, context in
            let page = try await personas.versions(context.caller, try context.personaID, try PageQuery.read(request))
            return .list(request, context, page, PersonaVersionResource.init)
        }
        creators.get(
            "\(path)/versions/{version}",
            .init(
                "Get a published version", parameters: [.init("version", in: .path, .integer)],
                response: .data(PersonaVersionResource.schema))
        ) { _, context in
            let number = try context.path("version") { Int($0) }
            guard let version = try await personas.version(context.caller, try context.personaID, number) else {
                throw GatewayError.notFound
            }
            return .envelope(context, PersonaVersionResource(version))
        }
        creators.get(
            "\(path)/diff",
            .init(
                "Compare two versions, or a version with the draft",
                parameters: [
                    .init("from", in: .query, .integer, required: true),
                    .init("to", in: .query, .integer.described("the draft when absent")),
                ],
                response: .data(DocumentDifferenceResource.schema))
        ) { try await difference($0, $1) }
        creators.post(
            "\(path)/rollback",
            .init(
                "Make an earlier version the draft again, and publish it when the persona is published", parameters: [.ifMatch],
                body: Self.rollback, response: PersonaRoutes.versioned)
        ) { try await rollBack($0, $1) }
    }

    private static let rollback = JSONBody("PersonaRollback") { (body) throws(JSONFinding) in
        try body.required("version", .integer(1...Int(Int32.max)))
    }

    private func difference(_ request: Request, _ context: AuthenticatedContext) async throws -> Response {
        let id = try context.personaID
        guard let from = try request.integer("from") else {
            throw GatewayError(.invalidInput, "from is required").naming(field: "from")
        }
        let to = try request.integer("to")
        guard let old = try await personas.version(context.caller, id, from) else { throw UnknownVersion(field: "from") }
        let new =
            if let to { try await personas.version(context.caller, id, to)?.content } else {
                try await personas.get(context.caller, id).content as JSONValue?
            }
        guard let new else { throw UnknownVersion(field: "to") }
        let operations = JSONPatch.difference(from: old.content, to: new).map(\.json)
        return .envelope(context, DocumentDifferenceResource(from: from, to: to, operations: operations))
    }

    private func rollBack(_ request: Request, _ context: AuthenticatedContext) async throws -> Response {
        let id = try context.personaID
        return try await PersonaRecord.versioned.edit(
            request, context, current: { try await personas.get(context.caller, id) }
        ) { expectedVersions in
            let number = try await request.read(Self.rollback)
            guard let version = try await personas.version(context.caller, id, number) else { throw UnknownVersion() }
            // This release may be stricter than the one that accepted the version. Then nothing is changed.
            if try await personas.get(context.caller, id).status == .published { try PersonaContent.validate(version.content) }
            let record = try await personas.restore(context.caller, id, number, expectedVersions)
            guard record.status == .published else { return record }
            // The content may have been edited behind PostgREST since it was restored. Only what was validated is published.
            try PersonaContent.validate(record.content)
            do {
                _ = try await personas.publish(context.caller, id, record.revision, nil, context.requestID)
            } catch is StaleVersion {
                // The draft was restored, and edited since: that draft was not validated, and what was published stays.
            }
            return try await personas.get(context.caller, id)
        }
    }
}
