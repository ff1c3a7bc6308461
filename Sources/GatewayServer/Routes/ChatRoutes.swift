import CoachCore
import GatewayAPI
import HTTPTypes
import Hummingbird
import TokenRelay

/// `POST /functions/v1/chat-stream`: the coaching turn.
struct ChatRoutes: Sendable {
    /// Streams of one turn at once (CONTRACT §4).
    static let maximumFollowers = 16

    let pipeline: TurnPipeline
    let heartbeat: Heartbeat

    func register(on router: some RouterMethods<GatewayContext>) {
        router.route("/functions/v1/chat-stream", [.post: { try await post($0, $1) }])
    }

    private func post(_ request: Request, _ context: GatewayContext) async throws -> Response {
        let ask = TurnAsk(
            authorization: request.headers[.authorization], idempotencyKey: request.headers[.idempotencyKey],
            acceptLanguage: request.headers[.acceptLanguage], body: try await request.collectBytes(), arrivedAt: context.arrivedAt,
            requestID: context.requestID)
        let open = try await pipeline.open(ask)
        return try follow(open.turn, from: Cursor(after: 0), rate: open.rate, context)
    }

    /// The stream of a turn from a cursor on.
    private func follow(_ turn: LiveTurn, from cursor: Cursor, rate: RateLimit?, _ context: GatewayContext) throws -> Response {
        let follower = Follower()
        guard turn.add(follower, limit: Self.maximumFollowers) else {
            var error = GatewayError(.rateLimited, "too many streams of one turn", retryAfter: 1)
            error.rate = rate
            throw error
        }
        let facts = turn.facts
        let card = pipeline.coaching.card(facts.risk, country: facts.country, locale: facts.locale)
        let greeting = Greeting(requestID: context.requestID, safety: card.map(StreamSafety.init))
        let stream = TurnStream(turn: turn, cursor: cursor, greeting: greeting, heartbeat: heartbeat)
        return stream.response(follower: follower, channel: context.channel, rate: rate)
    }
}
