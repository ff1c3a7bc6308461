import CoachCore
import GatewayAPI
import HTTPEdge
import Hummingbird
import JSON

/// `/api/v1/context-profile`: what the coach knows of the user, its earlier versions, and undo.
///
/// Every edit names the version that it was made from, so that of two devices one gets 412 with the current version.
public struct ContextProfileRoutes: Feature {
    private static let path = "/api/v1/context-profile"

    private let profiles: ContextProfileRepository
    private let consents: ConsentRepository
    private let required: RequiredConsents

    public init(profiles: ContextProfileRepository, consents: ConsentRepository, required: RequiredConsents) {
        self.profiles = profiles
        self.consents = consents
        self.required = required
    }

    public func register(on routes: RouteTable) {
        let users = routes.authenticated("Context profile")
        let response = RouteResponse.data(ContextProfileResource.schema).versioned
        users.get(Self.path, .init("Get the profile; version 0 is an empty one", response: response)) { request, context in
            respond(request, context, try await profiles.get(context.caller))
        }
        users.put(
            Self.path, .init("Replace the profile", parameters: [.ifMatch], body: ContextProfileBody.schema, response: response)
        ) { request, context in
            try await edit(request, context, isPatch: false)
        }
        users.patch(
            Self.path,
            .init("Replace fields of the profile (RFC 7396)", parameters: [.ifMatch], body: ContextProfileBody.schema, response: response)
        ) { request, context in
            try await edit(request, context, isPatch: true)
        }
        users.post(
            "\(Self.path)/undo",
            .init("Make the version before the current one the current one again", parameters: [.ifMatch], response: response)
        ) { try await undo($0, $1) }
        users.get(
            "\(Self.path)/history",
            .init(
                "List the versions, newest first; the last 100 are kept", parameters: PageQuery.cursorParameters,
                response: .list(ContextProfileResource.schema))
        ) { request, context in
            let page = try PageQuery.read(request)
            let versions = try await profiles.history(context.caller, try page.numberCursor, page.limit + 1)
            return .list(request, context, Page(versions, limit: page.limit, number: \.version), ContextProfileResource.init)
        }
    }

    private func edit(_ request: Request, _ context: Authenticated, isPatch: Bool) async throws -> Response {
        let expected = try request.expectedVersion(required: true)
        let body = try ContextProfileBody(body: try await request.collectBytes(), isPatch: isPatch)
        return try await save(ContextProfileEdit(fields: body.fields, expectedVersions: expected.versions), request, context)
    }

    private func undo(_ request: Request, _ context: Authenticated) async throws -> Response {
        let expected = try request.expectedVersion(required: true)
        let newest = try await profiles.history(context.caller, nil, 2)
        guard newest.count == 2 else { throw GatewayError(.notFound, "there is no earlier version") }
        let current = newest[0].version
        if let versions = expected.versions, !versions.contains(current) {
            throw GatewayError.stale(ContextProfileResource(newest[0]), EntityTag(version: current))
        }
        return try await save(ContextProfileEdit(fields: newest[1].fields, expectedVersions: [current]), request, context)
    }

    private func save(_ edit: ContextProfileEdit, _ request: Request, _ context: Authenticated) async throws -> Response {
        guard required.allowsMemory(try await consents.current(context.caller)) else {
            throw Rejection(reason: .consentMissing, missingConsents: [.memory])
        }
        do {
            return respond(request, context, try await profiles.edit(context.caller, edit))
        } catch is StaleVersion {
            let current = try await profiles.get(context.caller)
            throw GatewayError.stale(ContextProfileResource(current), EntityTag(version: current.version))
        } catch is ProfileTooLong {
            throw GatewayError(.invalidInput, "a field of the profile is too long")
        }
    }

    private func respond(_ request: Request, _ context: Authenticated, _ profile: ContextProfileVersion) -> Response {
        .envelope(context) { ContextProfileResource(profile).write(to: &$0) }.tagged(EntityTag(version: profile.version), for: request)
    }
}

extension ContextProfileResource {
    init(_ profile: ContextProfileVersion) {
        self.init(
            version: profile.version, values: profile.fields[.values] ?? [], goals: profile.fields[.goals] ?? [],
            situation: profile.fields[.situation] ?? [], updatedAt: profile.writtenAt.map { Timestamp($0) })
    }
}
