import CoachCore
import GatewayAPI
import HTTPEdge
import HTTPTypes
import Hummingbird
import NIOCore
import TokenRelay

extension TurnPipeline {
    /// The most live streams of one turn besides that of the request that began it (CONTRACT §4).
    private static let maximumAdditionalStreams = 16
    /// The most streams of repeated requests beyond that; they get the text at the turn's end.
    private static let maximumAdditionalStreamsAtEnd = 256

    /// The response that streams a turn from a cursor on. Throws `BIZ_2010` when the turn has too many streams.
    func relay(_ subscription: TurnSubscription, from cursor: Cursor, _ http: TurnHTTPRequest) throws(GatewayError) -> Response {
        let turn = subscription.turn
        return try relay(
            subscription, from: cursor,
            as: EventFormat(
                openingEvents: openingEvents(turn, http), facts: turn.facts, failureSafety: failureSafety(of: turn), start: cursor), http)
    }

    /// The same in another wire format.
    func relay(
        _ subscription: TurnSubscription, from cursor: Cursor, as format: any StreamFormat, _ http: TurnHTTPRequest
    ) throws(GatewayError) -> Response {
        let turn = subscription.turn
        var subscriber = Subscriber(beganTurn: subscription.request == .began)
        if !turn.add(subscriber, limit: Self.maximumAdditionalStreams) {
            subscriber = Subscriber(deliversAtEnd: subscription.request == .repeats)
            guard subscriber.deliversAtEnd, turn.add(subscriber, limit: Self.maximumAdditionalStreamsAtEnd) else {
                throw rejected(GatewayError(.rateLimited, "too many streams of one turn", retryAfter: 1, limit: .streams), turn)
            }
        }
        let stream = TurnStream(turn: turn, cursor: cursor, format: format, streamLoop: streamLoop)
        return stream.response(subscriber: subscriber, channel: http.context.channel)
    }

    /// The response for a cursor beyond the text of the current attempt, where the client may have read an earlier attempt, whose text was lost in a
    /// crash. A complete stream with an error that tells the client to read from the start.
    func relayLost(_ turn: LiveTurn, _ http: TurnHTTPRequest) -> Response {
        var bytes: [UInt8] = []
        openingEvents(turn, http).encode(turn.facts, into: &bytes)
        if let safety = failureSafety(of: turn) { StreamEvent.safety(safety).encode(cursor: 0, into: &bytes) }
        StreamEvent.error(TerminalEvents.lost).encode(cursor: 0, into: &bytes)
        var fields = HTTPFields()
        fields.writeEventStream()
        let stream = ByteBuffer(bytes: bytes)
        // In chunked coding, like every stream of a turn.
        let body = ResponseBody { writer in
            try await writer.write(stream)
            try await writer.finish(nil)
        }
        return Response(status: .ok, headers: fields, body: body)
    }

    /// Adds the turn's crisis resources to an error.
    func rejected(_ error: GatewayError, _ turn: LiveTurn) -> GatewayError {
        var error = error
        error.safety = card(of: turn) ?? failureSafety(of: turn)
        return error
    }

    private func openingEvents(_ turn: LiveTurn, _ http: TurnHTTPRequest) -> OpeningEvents {
        OpeningEvents(
            requestID: http.context.requestID, disclosure: coaching.disclosure(turn.facts.disclosure, in: turn.facts.region),
            safety: card(of: turn))
    }

    /// The crisis resources for an error of a turn that has no card, of a user whose stored level is above calm.
    func failureSafety(of turn: LiveTurn) -> StreamSafety? {
        card(of: turn) == nil ? coaching.resources.resources(stored: turn.facts.storedLevel, in: turn.facts.region) : nil
    }

    func card(of turn: LiveTurn) -> StreamSafety? {
        coaching.card(turn.facts.risk, in: turn.facts.region).map(StreamSafety.init)
    }
}
