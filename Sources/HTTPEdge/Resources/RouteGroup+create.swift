import CoachCore
import Foundation
import GatewayAPI
import HTTPTypes
import Hummingbird
import JSON

extension RouteGroup where Context == AuthenticatedContext {
    /// Declares a POST that creates a resource and answers 201. With an `Idempotency-Key` header a repeated request gets the same answer;
    /// the same key with another body gets 422 `BIZ_2009`.
    /// - Parameters:
    ///   - body: becomes a draft. Read before the key is claimed, so that an invalid body does not use the key. An empty one counts as `{}`.
    ///   - create: creates the resource with the given id, or returns the existing one with this id. It is called again with the same id
    ///     when the process ended before the answer was saved.
    public func create<Draft: Sendable, Resource: WireResource>(
        _ path: String, _ summary: String, body: JSONBody<Draft>,
        _ create: @escaping @Sendable (Draft, UUID, AuthenticatedContext) async throws -> Resource
    ) {
        self.create(path, summary, body: body, response: .data(Resource.schema, status: .created)) { draft, id, context in
            CreationAnswer(try await create(draft, id, context))
        }
    }

    /// The same for a resource with versions: the answer has its `ETag`.
    public func create<Draft: Sendable, Record: Sendable, Resource: WireResource>(
        _ path: String, _ summary: String, body: JSONBody<Draft>, versioned: VersionedResource<Record, Resource>,
        _ create: @escaping @Sendable (Draft, UUID, AuthenticatedContext) async throws -> Record
    ) {
        let response = RouteResponse.data(Resource.schema, status: .created).versioned
        self.create(path, summary, body: body, response: response) { draft, id, context in
            versioned.creation(try await create(draft, id, context))
        }
    }

    private func create<Draft: Sendable>(
        _ path: String, _ summary: String, body: JSONBody<Draft>, response: RouteResponse,
        answer: @escaping @Sendable (Draft, UUID, AuthenticatedContext) async throws -> CreationAnswer
    ) {
        let (requests, body) = (table.idempotency, body.allowingEmpty)
        post(path, .init(summary, parameters: [.idempotencyKey], body: body, response: response)) { request, context in
            let key = try IdempotencyKey.resolve(header: request.headers[.idempotencyKey], body: nil)
            let bytes = try await request.collectBytes()
            let draft = try body.value(of: bytes)
            let execute: @Sendable (UUID) async throws -> CreationAnswer = { id in try await answer(draft, id, context) }
            guard let key else { return .creation(try await execute(UUID.random()), request, context) }
            let idempotent = IdempotentRequest(key: key.text, route: "POST \(request.routedPath)", body: bytes)
            return .creation(try await requests.answer(context.caller, idempotent, execute), request, context)
        }
    }
}

extension IdempotentRequests {
    /// Executes the request once, or returns its earlier answer.
    fileprivate func answer(
        _ caller: Caller, _ request: IdempotentRequest, _ execute: (UUID) async throws -> CreationAnswer
    ) async throws -> CreationAnswer {
        let resourceID: UUID
        switch try await claim(caller, request) {
        case .completed(let answer): return answer
        case .conflict: throw GatewayError(.idempotencyConflict, "the idempotency key was used with another request")
        case .inProgress: throw GatewayError(.rateLimited, "the same request is in progress", retryAfter: 1)
        case .claimed(let id): resourceID = id
        }
        let answer: CreationAnswer
        do {
            answer = try await execute(resourceID)
        } catch {
            // If this fails, too, the claim expires after a minute.
            try? await release(caller, request.key, error.createdNothing)
            throw error
        }
        do {
            try await complete(caller, request.key, answer)
        } catch {
            // The resource exists: an unsaved answer must not become an error. A repeated request finds the resource by its id.
            try? await release(caller, request.key, false)
        }
        return answer
    }
}

extension Error {
    /// Whether the creation was rejected. After a fault of the database or a cancellation it may have been committed without an answer.
    fileprivate var createdNothing: Bool {
        GatewayError(known: self).map { $0.httpStatus < 500 } ?? false
    }
}

extension Response {
    fileprivate static func creation(_ answer: CreationAnswer, _ request: Request, _ context: AuthenticatedContext) -> Response {
        let response = Response.envelope(context, status: .init(code: answer.status)) { $0.raw(answer.data) }
        return answer.version.map { response.tagged(EntityTag(version: $0), for: request) } ?? response
    }
}

extension CreationAnswer {
    fileprivate init(_ resource: some WireResource, version: Int64? = nil) {
        self.init(status: HTTPResponse.Status.created.code, data: JSONWriter.encode { resource.write(to: &$0) }, version: version)
    }
}

extension VersionedResource {
    fileprivate func creation(_ record: Record) -> CreationAnswer { CreationAnswer(resource(record), version: version(record)) }
}
