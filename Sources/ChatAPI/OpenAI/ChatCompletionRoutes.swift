import CoachCore
import GatewayAPI
import HTTPEdge
import Hummingbird
import TokenRelay

/// `POST /v1/chat/completions`: a turn for clients of OpenAI's chat completions.
public struct ChatCompletionRoutes: Feature {
    private let chat: ChatRoutes
    private let names: ModelNames
    private let repetitions = SDKRepetitions()

    public init(chat: ChatRoutes, names: ModelNames) {
        self.chat = chat
        self.names = names
    }

    public func register(on routes: RouteTable) {
        routes.authenticated("OpenAI").counting(.byHandler).post(
            "/v1/chat/completions",
            .init(
                "Answer a conversation that the client keeps; with stream: true as chunks",
                parameters: [.idempotencyKey],
                body: ChatCompletionRequest.body, response: .media(["application/json": .any, RouteResponse.eventStream: .text]))
        ) { try await create($0, $1) }
    }

    private func create(_ request: Request, _ context: AuthenticatedContext) async throws -> Response {
        let http = repetitions.identify(
            .beginning(request, context, body: try await request.collectBytes()), request.headers)
        return try await http.trace.request { try await create(http) }
    }

    private func create(_ http: TurnHTTPRequest) async throws -> Response {
        let pipeline = chat.pipeline
        let body = try await pipeline.read(http, ChatCompletionRequest.init)
        let (request, assessment) = try await pipeline.prepare(body.conversation, model: body.model, http)
        let subscription = try await pipeline.start(request, assessment, http)
        let turn = subscription.turn
        let completion = ChatCompletion(
            turn: turn, model: await names.name(of: turn, http.caller), card: pipeline.cardText(of: turn),
            failureSafety: pipeline.failureSafety(of: turn))
        if body.streams {
            return try pipeline.relay(
                subscription, from: .start, as: ChatCompletionStreamFormat(completion, includesUsage: body.includesUsage), http)
        }
        let ending = try await pipeline.ending(of: subscription)
        guard ending.finishReason != nil else { throw pipeline.failure(ending, subscription) }
        return .json(completion.encoded(ending))
    }
}
