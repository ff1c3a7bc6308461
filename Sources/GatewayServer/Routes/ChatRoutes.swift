import CoachCore
import EventStream
import GatewayAPI
import HTTPTypes
import Hummingbird
import NIOCore
import TokenRelay

/// `/functions/v1/chat-stream`: the coaching turn, and what can be asked of it later.
struct ChatRoutes: Sendable {
    /// Streams of one turn at once (CONTRACT §4).
    static let maximumFollowers = 16

    let pipeline: TurnPipeline
    let lines: ClientLines

    func register(on router: some RouterMethods<GatewayContext>) {
        router.route("/functions/v1/chat-stream", [.post: { try await post($0, $1) }])
        router.route("/functions/v1/chat-stream/{turn_id}", [.get: { try await resume($0, $1) }])
        router.route("/functions/v1/chat-stream/{turn_id}/stop", [.post: { try await stop($0, $1) }])
        router.route("/functions/v1/chat-stream/{turn_id}/retry", [.post: { try await retry($0, $1) }])
    }

    private func post(_ request: Request, _ context: GatewayContext) async throws -> Response {
        let open = try await pipeline.open(ask(request, context, body: try await request.collectBytes()))
        return try follow(open, from: Cursor(after: 0), context)
    }

    private func resume(_ request: Request, _ context: GatewayContext) async throws -> Response {
        // Who asks comes first: a stranger learns nothing about ids and cursors.
        let caller = try await pipeline.authenticate(ask(request, context))
        let cursor = try cursor(request)
        let open = try await pipeline.find(caller, try turnID(context))
        let isBehind = cursor.position > open.turn.releasedBytes
        if isBehind, open.turn.facts.identity.attempt > 1, open.turn.ending != nil || pipeline.isRunning(here: open.turn) {
            return lost(open, context)
        }
        if isBehind, let ending = open.turn.ending, ending.finishReason != nil {
            var error = GatewayError(.invalidInput, Farewell.beyondMessage).naming(field: "after")
            error.rate = open.rate
            throw error
        }
        return try follow(open, from: cursor, context)
    }

    private func stop(_ request: Request, _ context: GatewayContext) async throws -> Response {
        let caller = try await pipeline.authenticate(ask(request, context))
        let turnID = try turnID(context)
        let status = try await pipeline.stop(caller, turnID)
        return .envelope(context) { writer in
            writer.object { writer in
                writer.member("turn_id", turnID.uuid)
                writer.member("status", status.rawValue)
            }
        }
    }

    private func retry(_ request: Request, _ context: GatewayContext) async throws -> Response {
        let ask = ask(request, context)
        let open = try await pipeline.retry(ask, try await pipeline.authenticate(ask), try turnID(context))
        return try follow(open, from: Cursor(after: 0), context)
    }

    /// The stream of a turn from a cursor on. Who repeats a request when all places are taken waits for the end and gets all of it then.
    private func follow(_ open: OpenTurn, from cursor: Cursor, _ context: GatewayContext) throws -> Response {
        let turn = open.turn
        var follower = Follower()
        if !turn.add(follower, limit: Self.maximumFollowers) {
            follower = Follower(isPatient: open.isRepeated)
            guard turn.add(follower, limit: Self.maximumFollowers) else {
                throw GatewayError(.rateLimited, "too many streams of one turn", retryAfter: 1)
            }
        }
        let format = EventFormat(greeting: greeting(turn, context), facts: turn.facts)
        let stream = TurnStream(turn: turn, cursor: cursor, format: format, lines: lines)
        return stream.response(follower: follower, channel: context.channel, rate: open.rate)
    }

    /// The whole stream for a cursor that only an earlier attempt can have brought: this one has not come so far, and never will for it.
    private func lost(_ open: OpenTurn, _ context: GatewayContext) -> Response {
        var bytes: [UInt8] = []
        greeting(open.turn, context).encode(open.turn.facts, into: &bytes)
        StreamEvent.error(Farewell.lost).encode(cursor: 0, into: &bytes)
        var fields = HTTPFields()
        fields.writeEventStream()
        open.rate?.write(to: &fields)
        let whole = ByteBuffer(bytes: bytes)
        // In chunks, as every stream of a turn.
        let body = ResponseBody { writer in
            try await writer.write(whole)
            try await writer.finish(nil)
        }
        return Response(status: .ok, headers: fields, body: body)
    }

    private func greeting(_ turn: LiveTurn, _ context: GatewayContext) -> Greeting {
        let facts = turn.facts
        let card = pipeline.coaching.card(facts.risk, country: facts.country, locale: facts.locale)
        return Greeting(requestID: context.requestID, safety: card.map(StreamSafety.init))
    }

    private func ask(_ request: Request, _ context: GatewayContext, body: [UInt8] = []) -> TurnAsk {
        TurnAsk(
            authorization: request.headers[.authorization], idempotencyKey: request.headers[.idempotencyKey],
            acceptLanguage: request.headers[.acceptLanguage], body: body, arrivedAt: context.arrivedAt, requestID: context.requestID)
    }

    /// A malformed id is an id that nobody has.
    private func turnID(_ context: GatewayContext) throws(GatewayError) -> TurnID {
        guard let id = context.parameters.get("turn_id").flatMap({ TurnID(validating: $0) }) else { throw .notFound }
        return id
    }

    /// `Last-Event-ID` or `?after=`, in UTF-8 bytes; 0 without.
    private func cursor(_ request: Request) throws(GatewayError) -> Cursor {
        let text = request.headers[.lastEventID] ?? request.uri.queryParameters["after"].map(String.init)
        guard let text, !text.isEmpty else { return Cursor(after: 0) }
        guard let position = Int(text), position >= 0 else {
            throw GatewayError(.invalidInput, "the cursor must be a number of bytes").naming(field: "after")
        }
        return Cursor(after: position)
    }
}
