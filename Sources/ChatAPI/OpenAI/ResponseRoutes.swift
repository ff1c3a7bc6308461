import CoachCore
import GatewayAPI
import HTTPEdge
import Hummingbird
import JSON
import TokenRelay

/// `/v1/responses`: a turn for clients of OpenAI's responses. The id of a response is that of its turn.
public struct ResponseRoutes: Feature {
    private let chat: ChatRoutes
    private let names: ModelNames
    private let responses: ResponseRepository
    private let repetitions = SDKRepetitions()

    public init(chat: ChatRoutes, names: ModelNames, responses: ResponseRepository) {
        self.chat = chat
        self.names = names
        self.responses = responses
    }

    public func register(on routes: RouteTable) {
        let turns = routes.authenticated("OpenAI")
        turns.counting(.byHandler).post(
            "/v1/responses",
            .init(
                "Create a response; with stream: true as events, with background: true at once",
                parameters: [.idempotencyKey],
                body: ResponseRequest.body, response: .media(["application/json": .any, RouteResponse.eventStream: .text]), failures: [409])
        ) { try await create($0, $1) }
        let running = turns.counting(.beforeHandlerIfPossible)
        running.get(
            "/v1/responses/{id}",
            .init(
                "Get a response; with stream=true its events after a sequence number",
                parameters: [
                    .init("id", in: .path, .text), .init("stream", in: .query, .boolean),
                    .init("starting_after", in: .query, .integer(Self.sequenceNumbers)),
                ], response: .media(["application/json": .any, RouteResponse.eventStream: .text]))
        ) { try await get($0, $1) }
        turns.get(
            "/v1/responses/{id}/input_items",
            .init("List the input of a response", parameters: [.init("id", in: .path, .text)], response: .media("application/json"))
        ) { try await inputItems($0, $1) }
        running.post(
            "/v1/responses/{id}/cancel",
            .init(
                "Stop a response that runs in the background", parameters: [.init("id", in: .path, .text)],
                response: .media("application/json"))
        ) { try await cancel($0, $1) }
        turns.delete(
            "/v1/responses/{id}",
            .init(
                "Delete a response and its texts, and with the last one their conversation", parameters: [.init("id", in: .path, .text)],
                response: .media("application/json"), failures: [409])
        ) { try await delete($0, $1) }
    }

    /// More than any answer has bytes.
    private static let sequenceNumbers = 0...Int(Int32.max)

    private func create(_ request: Request, _ context: AuthenticatedContext) async throws -> Response {
        let http = TurnHTTPRequest.beginning(request, context, body: try await request.collectBytes())
        return try await http.trace.request {
            let body = try await chat.pipeline.read(http, ResponseRequest.init)
            let identified =
                body.previous == nil
                ? repetitions.identify(http, request.headers) : SDKRepetitions.identifyContinuation(http, request.headers)
            return try await create(body, identified)
        }
    }

    private func create(_ body: ResponseRequest, _ http: TurnHTTPRequest) async throws -> Response {
        let pipeline = chat.pipeline
        let conversation = try await conversation(of: body, pipeline, http)
        let (turn, assessment) = try await pipeline.prepare(body.conversation, model: body.model, in: conversation, http)
        // The turn after the previous response may be that of the request itself, when it repeats another one.
        if let previous = body.previous, try await isContinued(previous, body, pipeline, http),
            try await !pipeline.isRepetition(turn, assessment, http)
        {
            throw await rejection(
                of: body, "only the latest response of a conversation can be continued", code: "previous_response_not_latest", pipeline,
                http)
        }
        let subscription = try await pipeline.start(turn, assessment, http)
        let id = ResponseID(subscription.turn.facts.identity.turnID, isBackground: body.isBackground)
        var object = await object(subscription.turn, id, pipeline, http)
        object.echo = body.echo
        if body.streams { return try pipeline.relay(subscription, from: .start, as: ResponseStreamFormat(object), http) }
        if !body.isBackground {
            let ending = try await pipeline.ending(of: subscription)
            if ending.status == .failed { throw pipeline.failure(ending, subscription) }
        }
        return .json(object.encoded())
    }

    /// The conversation of an earlier response.
    private func conversation(
        of body: ResponseRequest, _ pipeline: TurnPipeline, _ http: TurnHTTPRequest
    ) async throws -> ConversationID? {
        guard let previous = body.previous else { return nil }
        do {
            return try await pipeline.find(previous.turn, http).facts.identity.conversationID
        } catch let error as GatewayError where error.code == .notFound {
            throw await rejection(of: body, "the previous response does not exist", code: "previous_response_not_found", pipeline, http)
        } catch {
            throw await failure(error, body, pipeline, http)
        }
    }

    /// Whether an earlier response has a later one in its conversation.
    private func isContinued(
        _ previous: ResponseID, _ body: ResponseRequest, _ pipeline: TurnPipeline, _ http: TurnHTTPRequest
    ) async throws(GatewayError) -> Bool {
        do {
            return try await responses.input(http.caller, previous.turn)?.isLatest == false
        } catch {
            throw await failure(error, body, pipeline, http)
        }
    }

    /// The error for a request that could not be decided on, with the resources that the message or the user's state calls for.
    private func failure(
        _ error: any Error, _ body: ResponseRequest, _ pipeline: TurnPipeline, _ http: TurnHTTPRequest
    ) async -> GatewayError {
        let request = pipeline.request(body.conversation)
        return pipeline.failure(error, await pipeline.assess(request, http).final.risk, request, http)
    }

    /// The error for an earlier response that cannot be continued, with the resources that the message calls for.
    private func rejection(
        of body: ResponseRequest, _ text: String, code: String, _ pipeline: TurnPipeline, _ http: TurnHTTPRequest
    ) async -> GatewayError {
        var error = GatewayError(.invalidInput, text).naming(field: "previous_response_id")
        error.openAICode = code
        let request = pipeline.request(body.conversation)
        return pipeline.rejected(error, await pipeline.assess(request, http).final.risk, request, http)
    }

    private func get(_ request: Request, _ context: AuthenticatedContext) async throws -> Response {
        let http = TurnHTTPRequest(request, context)
        let pipeline = chat.pipeline
        let streams = try request.flag("stream")
        let last = try request.integer("starting_after")
        if let last, !Self.sequenceNumbers.contains(last) {
            throw GatewayError(.invalidInput, "starting_after is no number of an event").naming(field: "starting_after")
        }
        let id = try responseID(context)
        let turn = try await pipeline.find(id.turn, http)
        if !streams, turn.ending == nil { try await pipeline.remoteTurns.read(turn) }
        let object = await object(turn, id, pipeline, http)
        guard streams else { return .json(object.encoded()) }
        let format = ResponseStreamFormat(object, after: last, splitsText: last == nil)
        if format.isBeyondTheEnd {
            throw GatewayError(.invalidInput, "starting_after is beyond the last event").naming(field: "starting_after")
        }
        return try pipeline.relay(TurnSubscription(turn: object.turn), from: format.cursor, as: format, http)
    }

    /// The newest message alone: instructions and earlier items of a request are not stored.
    private func inputItems(_ request: Request, _ context: AuthenticatedContext) async throws -> Response {
        guard let input = try await responses.input(context.caller, try responseID(context).turn) else { throw GatewayError.notFound }
        let id = "msg_\(input.messageID)"
        let list = OpenAIList.encode { writer in
            writer.object { writer in
                writer.member("id", id)
                writer.member("type", "message")
                writer.member("status", "completed")
                writer.member("role", "user")
                writer.key(literal: "content")
                writer.array { writer in
                    writer.object { writer in
                        writer.member("type", "input_text")
                        writer.member("text", input.text)
                    }
                }
            }
        } members: { writer in
            writer.member("first_id", id)
            writer.member("last_id", id)
            writer.member("has_more", false)
        }
        return .json(list)
    }

    /// Clients of this protocol take the answer to a cancellation for the final state. An owner that crashed is noticed within 10 s.
    private static let cancellation = Duration.seconds(15)

    private func cancel(_ request: Request, _ context: AuthenticatedContext) async throws -> Response {
        let http = TurnHTTPRequest(request, context)
        let pipeline = chat.pipeline
        let id = try responseID(context)
        guard id.isBackground else {
            // 404 for another user's.
            _ = try await pipeline.find(id.turn, http)
            throw GatewayError(.invalidInput, "only a response that was created with background: true can be cancelled").naming(field: "id")
        }
        let turn = try await pipeline.stop(id.turn, http, waitingFor: Self.cancellation)
        return .json(await object(turn, id, pipeline, http).encoded())
    }

    private func delete(_ request: Request, _ context: AuthenticatedContext) async throws -> Response {
        let id = try responseID(context)
        // Before the stop, which another turn of the user's must not feel.
        guard try await responses.input(context.caller, id.turn)?.isOfResponse == true else { throw GatewayError.notFound }
        guard try await chat.pipeline.stop(id.turn, TurnHTTPRequest(request, context)).ending != nil else {
            throw GatewayError(.turnInProgress, "the response is still in progress", retryAfter: 1)
        }
        guard try await responses.delete(context.caller, id.turn) else { throw GatewayError.notFound }
        return .json(
            JSONWriter.encode { writer in
                writer.object { writer in
                    writer.member("id", id.text)
                    writer.member("object", "response")
                    writer.member("deleted", true)
                }
            })
    }

    private func object(
        _ turn: LiveTurn, _ id: ResponseID, _ pipeline: TurnPipeline, _ http: TurnHTTPRequest
    ) async -> ResponseObject {
        ResponseObject(
            turn: turn, model: await names.name(of: turn, http.caller), card: pipeline.cardText(of: turn), isBackground: id.isBackground,
            failureSafety: pipeline.failureSafety(of: turn))
    }

    private func responseID(_ context: AuthenticatedContext) throws(GatewayError) -> ResponseID {
        try context.path("id", ResponseID.init(parsing:))
    }
}
