import CoachCore
import GatewayAPI
import HTTPTypes
import Hummingbird
import JSON
import NIOCore
import TokenRelay

/// `/functions/v1/chat-stream`: the coaching turn, and what can be asked of it later.
struct ChatRoutes: Sendable {
    /// Streams of one turn at once (CONTRACT §4).
    static let maximumSubscribers = 16
    /// Repetitions of a request beyond those, which wait for the end of its turn.
    static let maximumSubscribersAtEnd = 256

    let pipeline: TurnPipeline
    let streamLoop: StreamLoop

    func register(on router: some RouterMethods<GatewayContext>) {
        router.route("/functions/v1/chat-stream", [.post: { try await post($0, $1) }])
        router.route("/functions/v1/chat-stream/{turn_id}", [.get: { try await resume($0, $1) }])
        router.route("/functions/v1/chat-stream/{turn_id}/stop", [.post: { try await stop($0, $1) }])
        router.route("/functions/v1/chat-stream/{turn_id}/retry", [.post: { try await retry($0, $1) }])
    }

    private func post(_ request: Request, _ context: GatewayContext) async throws -> Response {
        let open = try await pipeline.open(httpRequest(request, context)) { try await request.collectBytes() }
        return try follow(open, from: Cursor(after: 0), context)
    }

    private func resume(_ request: Request, _ context: GatewayContext) async throws -> Response {
        // Who asks comes first: a stranger learns nothing about ids and cursors.
        let httpRequest = httpRequest(request, context)
        let caller = try await pipeline.authenticate(httpRequest)
        let (open, cursor) = try await pipeline.counting(caller, httpRequest) {
            () async throws(GatewayError) -> (TurnSubscription, Cursor) in
            let cursor = try readCursor(request)
            return (try await pipeline.find(caller, try readTurnID(context), httpRequest), cursor)
        }
        let isBehind = cursor.position > open.turn.releasedBytes
        if isBehind, open.turn.facts.identity.attempt > 1, open.turn.ending != nil || pipeline.isRunning(here: open.turn) {
            return lost(open, context)
        }
        if isBehind, let ending = open.turn.ending, ending.finishReason != nil {
            throw rejection(GatewayError(.invalidInput, TerminalEvents.beyondMessage).naming(field: "after"), open)
        }
        return try follow(open, from: cursor, context)
    }

    private func stop(_ request: Request, _ context: GatewayContext) async throws -> Response {
        let httpRequest = httpRequest(request, context)
        let caller = try await pipeline.authenticate(httpRequest)
        let (turnID, stopped) = try await pipeline.counting(caller, httpRequest) { () async throws(GatewayError) -> (TurnID, StoppedTurn) in
            let turnID = try readTurnID(context)
            return (turnID, try await pipeline.stop(caller, turnID, httpRequest))
        }
        var response = Response.envelope(context) { writer in
            writer.object { writer in
                writer.member("turn_id", turnID.uuid)
                writer.member("status", stopped.status.rawValue)
            }
        }
        stopped.rate?.write(to: &response.headers)
        return response
    }

    private func retry(_ request: Request, _ context: GatewayContext) async throws -> Response {
        let httpRequest = httpRequest(request, context)
        let caller = try await pipeline.authenticate(httpRequest)
        let open = try await pipeline.counting(caller, httpRequest) { () async throws(GatewayError) -> TurnSubscription in
            try await pipeline.retry(httpRequest, caller, try readTurnID(context))
        }
        return try follow(open, from: Cursor(after: 0), context)
    }

    /// The stream of a turn from a cursor on. Who repeats a request when all places are taken waits for the end and gets all of it then.
    private func follow(_ open: TurnSubscription, from cursor: Cursor, _ context: GatewayContext) throws -> Response {
        let turn = open.turn
        var subscriber = Subscriber()
        if !turn.add(subscriber, limit: Self.maximumSubscribers) {
            subscriber = Subscriber(deliversAtEnd: open.isRepeated)
            guard subscriber.deliversAtEnd, turn.add(subscriber, limit: Self.maximumSubscribersAtEnd) else {
                throw rejection(GatewayError(.rateLimited, "too many streams of one turn", retryAfter: 1), open)
            }
        }
        let format = EventFormat(openingEvents: openingEvents(turn, context), facts: turn.facts)
        let stream = TurnStream(turn: turn, cursor: cursor, format: format, streamLoop: streamLoop)
        return stream.response(subscriber: subscriber, channel: context.channel, rate: open.rate)
    }

    /// The whole stream for a cursor that only an earlier attempt can have brought: this one has not come so far, and never will for it.
    private func lost(_ open: TurnSubscription, _ context: GatewayContext) -> Response {
        var bytes: [UInt8] = []
        openingEvents(open.turn, context).encode(open.turn.facts, into: &bytes)
        StreamEvent.error(TerminalEvents.lost).encode(cursor: 0, into: &bytes)
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

    /// A refusal of who has a turn: of one in danger it carries the card.
    private func rejection(_ error: GatewayError, _ open: TurnSubscription) -> GatewayError {
        var error = error
        error.rate = open.rate
        error.safety = card(of: open.turn)
        return error
    }

    private func openingEvents(_ turn: LiveTurn, _ context: GatewayContext) -> OpeningEvents {
        OpeningEvents(requestID: context.requestID, safety: card(of: turn))
    }

    private func card(of turn: LiveTurn) -> StreamSafety? {
        let facts = turn.facts
        return pipeline.coaching.card(facts.risk, country: facts.country, locale: facts.locale).map(StreamSafety.init)
    }

    private func httpRequest(_ request: Request, _ context: GatewayContext) -> TurnHTTPRequest {
        TurnHTTPRequest(
            authorization: request.headers[.authorization], idempotencyKey: request.headers[.idempotencyKey],
            acceptLanguage: request.headers[.acceptLanguage], arrivedAt: context.arrivedAt, requestID: context.requestID)
    }

    /// A malformed id is an id that nobody has.
    private func readTurnID(_ context: GatewayContext) throws(GatewayError) -> TurnID {
        guard let id = context.parameters.get("turn_id").flatMap({ TurnID(validating: $0) }) else { throw .notFound }
        return id
    }

    /// `Last-Event-ID` or `?after=`, in UTF-8 bytes; 0 without.
    private func readCursor(_ request: Request) throws(GatewayError) -> Cursor {
        // Some clients send the header empty when they have read nothing.
        let said = [request.headers[.lastEventID], request.uri.queryParameters["after"].map(String.init)]
        guard let text = said.lazy.compactMap({ $0 }).first(where: { !$0.isEmpty }) else { return Cursor(after: 0) }
        guard let position = Int(text), position >= 0 else {
            throw GatewayError(.invalidInput, "the cursor must be a number of bytes").naming(field: "after")
        }
        return Cursor(after: position)
    }
}
