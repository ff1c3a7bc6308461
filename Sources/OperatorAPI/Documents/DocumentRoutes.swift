import CoachCore
import GatewayAPI
import HTTPEdge
import Hummingbird
import JSON

/// The routes of one kind of versioned documents, for operators: read, edit, versions, differences, rollback.
///
/// A kind with one document has it at the path itself: `operator/prices`; others at `operator/domain-configs/{id}`.
public struct DocumentRoutes: Feature {
    private static let versioned = VersionedResource<DocumentState, DocumentResource>({ .init($0) }, version: { Int64($0.version) })

    // No member of the wire tells them apart; the request does.
    private static let changed = RouteResponse.data(
        .oneOf([DocumentResource.schema, DocumentDifferenceResource.schema])
            .described("the saved version; of a dry run the difference that it would make")
    ).versioned
    private static let dryRun = RouteParameter(
        "dry_run", in: .query, .boolean.described("only validate, and answer with the difference and what it would change"))

    private let path: String
    private let title: String
    private let editor: DocumentEditor
    private let replay: DocumentReplay?

    /// - Parameters:
    ///   - path: below `/api/v1/operator`.
    ///   - title: of several documents, for people.
    ///   - replay: what a dry run tries on stored decisions.
    public init(path: String, title: String, type: DocumentType, documents: VersionedDocuments, replay: DocumentReplay? = nil) {
        self.path = "/api/v1/operator/\(path)"
        self.title = title
        self.replay = replay
        editor = DocumentEditor(type: type, documents: documents)
    }

    public func register(on routes: RouteTable) {
        let operators = routes.authenticated("Configuration").require(.operator)
        let item = editor.hasOneDocument ? path : "\(path)/{id}"
        if !editor.hasOneDocument {
            operators.get(
                path,
                .init(
                    "List the current versions of the \(title)", parameters: PageQuery.cursorParameters,
                    response: .list(DocumentVersionResource.schema))
            ) { request, context in
                let page = try Page(of: try await editor.current(), try PageQuery.read(request))
                return .list(request, context, page) { DocumentVersionResource($0) }
            }
        }
        operators.get(
            item,
            .init("Get the current version", parameters: itemParameters, response: .data(DocumentResource.schema).versioned)
        ) { request, context in Self.versioned.response(try await editor.current(try id(context)), request, context) }
        operators.put(
            item,
            .init(
                "Validate, save and apply a new version; all instances use it within 2 s",
                parameters: itemParameters + [.ifMatch, Self.dryRun], body: DocumentBody.body, response: Self.changed)
        ) { try await put($0, $1) }
        operators.post(
            "\(item)/rollback",
            .init(
                "Make an earlier version the current one again", parameters: itemParameters + [.ifMatch, Self.dryRun],
                body: DocumentRollback.body, response: Self.changed)
        ) { try await rollBack($0, $1) }
        registerVersions(of: item, on: operators)
    }

    private func registerVersions(of item: String, on operators: RouteGroup<AuthenticatedContext>) {
        operators.get(
            "\(item)/diff",
            .init(
                "Compare two versions: by default the shipped one with the current one",
                parameters: itemParameters + [.init("from", in: .query, .integer), .init("to", in: .query, .integer)],
                response: .data(DocumentDifferenceResource.schema))
        ) { try await difference($0, $1) }
        operators.get(
            "\(item)/versions",
            .init(
                "List the versions, newest first", parameters: itemParameters + PageQuery.cursorParameters,
                response: .list(DocumentVersionResource.schema))
        ) { request, context in
            let page = try await editor.versions(try id(context), try PageQuery.read(request))
            return .list(request, context, page) { DocumentVersionResource($0) }
        }
        operators.get(
            "\(item)/versions/{version}",
            .init(
                "Get a version", parameters: itemParameters + [.init("version", in: .path, .integer)],
                response: .data(DocumentResource.schema))
        ) { _, context in
            let version = try context.path("version") { Int($0) }
            guard let found = try await editor.version(try id(context), version) else { throw GatewayError.notFound }
            return .envelope(context, DocumentResource(found))
        }
    }

    private var itemParameters: [RouteParameter] {
        editor.hasOneDocument ? [] : [.init("id", in: .path, .values(editor.ids))]
    }

    private func put(_ request: Request, _ context: AuthenticatedContext) async throws -> Response {
        let id = try id(context)
        let expected = try request.expectedVersion(required: true)
        let body = try await request.read(DocumentBody.body)
        return try await change(
            id, expected, to: body.body, .body(body.body), reason: body.reason, isDryRun: body.isDryRun, request, context)
    }

    private func rollBack(_ request: Request, _ context: AuthenticatedContext) async throws -> Response {
        let id = try id(context)
        let expected = try request.expectedVersion(required: true)
        let body = try await request.read(DocumentRollback.body)
        guard let former = try await editor.version(id, body.version) else { throw UnknownVersion() }
        return try await change(
            id, expected, to: former.body, .rollback(to: body.version), reason: body.reason, isDryRun: body.isDryRun, request, context)
    }

    /// Validates a body, also an earlier one, because this release may be stricter than the one that accepted it. Saves it as the new version, or answers
    /// what that would change.
    private func change(
        _ id: String, _ expected: ExpectedVersion, to body: JSONValue, _ content: DocumentEdit.Content, reason: String?, isDryRun: Bool,
        _ request: Request, _ context: AuthenticatedContext
    ) async throws -> Response {
        try editor.validate(body, of: id)
        return try await Self.versioned.reportingStale(current: { try await editor.current(id) }) {
            let current = try await editor.current(id)
            try expected.require(Int64(current.version))
            if try request.flag("dry_run") || isDryRun { return try await preview(body, over: current, request, context) }
            let saved = try await editor.save(content, reason: reason, over: current, context.caller, requestID: context.requestID)
            return Self.versioned.response(saved, request, context)
        }
    }

    /// What a change would do.
    private func preview(
        _ body: JSONValue, over current: DocumentState, _ request: Request, _ context: AuthenticatedContext
    ) async throws -> Response {
        var difference = DocumentDifferenceResource(from: current.version, to: nil, current.body, body)
        if let replay { difference.decisions = RoutingReplayResource(try await replay(context.caller, current.id, body)) }
        return .envelope(context, difference).tagged(EntityTag(version: Int64(current.version)), for: request)
    }

    private func difference(_ request: Request, _ context: AuthenticatedContext) async throws -> Response {
        let id = try id(context)
        guard let from = try await editor.version(id, try request.integer("from") ?? 1) else { throw UnknownVersion(field: "from") }
        let to = try request.integer("to")
        let other = if let to { try await editor.version(id, to) } else { try await editor.current(id) as DocumentState? }
        guard let other else { throw UnknownVersion(field: "to") }
        return .envelope(context, DocumentDifferenceResource(from: from.version, to: other.version, from.body, other.body))
    }

    private func id(_ context: AuthenticatedContext) throws(GatewayError) -> String {
        if editor.hasOneDocument { return DocumentName.onlyID }
        guard let id = context.parameters.get("id"), editor.ids.contains(id) else { throw .notFound }
        return id
    }
}
