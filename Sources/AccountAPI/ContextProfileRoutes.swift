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
    private static let versioned = VersionedResource<ContextProfileVersion, ContextProfileResource>({ .init($0) }, version: \.version)

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
            Self.versioned.response(try await profiles.get(context.caller), request, context)
        }
        users.put(
            Self.path, .init("Replace the profile", parameters: [.ifMatch], body: ContextProfileBody.replacement, response: response)
        ) { request, context in
            try await edit(request, context, ContextProfileBody.replacement)
        }
        users.patch(
            Self.path,
            .init("Replace fields of the profile (RFC 7396)", parameters: [.ifMatch], body: ContextProfileBody.patch, response: response)
        ) { request, context in
            try await edit(request, context, ContextProfileBody.patch)
        }
        users.post(
            "\(Self.path)/undo",
            .init(
                "Make the version before the current one the current one again; repeated, it goes further back, to the empty version 0",
                parameters: [.ifMatch], response: response)
        ) { try await undo($0, $1) }
        users.get(
            "\(Self.path)/history",
            .init(
                "List all versions, newest first", parameters: PageQuery.cursorParameters,
                response: .list(ContextProfileResource.schema))
        ) { request, context in
            let page = try PageQuery.read(request)
            let versions = try await profiles.history(context.caller, try page.numberCursor, page.limit + 1)
            return .list(request, context, Page(versions, limit: page.limit, number: \.version), ContextProfileResource.init)
        }
    }

    private func edit(_ request: Request, _ context: AuthenticatedContext, _ body: JSONBody<ContextProfileBody>) async throws -> Response {
        try await Self.versioned.edit(request, context, current: { try await profiles.get(context.caller) }) { expectedVersions in
            let fields = try await request.read(body).fields
            return try await save(ContextProfileEdit(fields: fields, expectedVersions: expectedVersions), context)
        }
    }

    private func undo(_ request: Request, _ context: AuthenticatedContext) async throws -> Response {
        let expected = try request.expectedVersion(required: true)
        return try await Self.versioned.reportingStale(current: { try await profiles.get(context.caller) }) {
            let current = try await profiles.get(context.caller)
            try expected.require(current.version)
            // After an undo the version before the restored one is the next.
            let shown = current.restores ?? current.version
            guard shown > 0 else { throw GatewayError(.notFound, "there is no earlier version") }
            let former = try await profiles.history(context.caller, shown, 1).first ?? .empty
            let edit = ContextProfileEdit(
                fields: former.fields, expectedVersions: [current.version], restores: former.restores ?? former.version)
            return Self.versioned.response(try await save(edit, context), request, context)
        }
    }

    /// Whether a profile may be kept, or the edit only takes out of one that was kept before.
    private func mayBeSaved(_ edit: ContextProfileEdit, _ caller: Caller) async throws -> Bool {
        if required.allowsMemory(try await consents.current(caller)) { return true }
        guard edit.restores == nil else { return false }
        let kept = try await profiles.get(caller).fields
        return edit.fields.allSatisfy { field, statements in statements.allSatisfy { kept[field]?.contains($0) ?? false } }
    }

    private func save(_ edit: ContextProfileEdit, _ context: AuthenticatedContext) async throws -> ContextProfileVersion {
        guard try await mayBeSaved(edit, context.caller) else {
            throw Rejection(reason: .consentMissing, missingConsents: [.memory])
        }
        return try await profiles.edit(context.caller, edit)
    }
}

extension ContextProfileResource {
    init(_ profile: ContextProfileVersion) {
        self.init(
            version: profile.version, values: profile.fields[.values] ?? [], goals: profile.fields[.goals] ?? [],
            situation: profile.fields[.situation] ?? [], updatedAt: profile.writtenAt.map { Timestamp($0) })
    }
}
