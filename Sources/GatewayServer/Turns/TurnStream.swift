import CoachCore
import EventStream
import GatewayAPI
import HTTPTypes
import Hummingbird
import NIOCore
import Synchronization
import TokenRelay

/// Tells a turn to one client: NIO writes the head, then the relay's line has the socket for itself, and ends the connection with the last event.
/// What NIO and Hummingbird hold for a connection is more than all that a stream takes here, and a stream may last for minutes.
struct TurnStream: Sendable {
    let turn: LiveTurn
    let cursor: Cursor
    let format: EventFormat
    let streamLoop: StreamLoop

    /// The response; its head and first event leave before the model has said anything.
    func response(subscriber: Subscriber, channel: any Channel, rate: RateLimit?) -> Response {
        var fields = HTTPFields()
        fields.writeEventStream()
        fields[.connection] = "close"
        rate?.write(to: &fields)
        let seat = PendingSubscription(subscriber, at: turn)
        // The client may be gone before the body begins.
        channel.closeFuture.whenComplete { _ in seat.leave() }
        let body = ResponseBody { _ in
            defer { seat.leave() }
            let (descriptor, isChunked) = try await ClientSocket.detach(from: channel)
            seat.pass()
            streamLoop.open(
                StreamRequest(
                    turn, subscriber: subscriber, from: cursor, format: format, descriptor: descriptor, isChunked: isChunked,
                    onEnd: TurnMetrics.stream))
            channel.close(promise: nil)
        }
        return Response(status: .ok, headers: fields, body: body)
    }
}

/// The stream's events as server-sent events (CONTRACT §4).
struct EventFormat: StreamFormat {
    /// What a client that is handed over waits before it resumes.
    private static let retryMilliseconds = 500

    let openingEvents: OpeningEvents
    let facts: TurnFacts

    func appendOpeningEvents(into output: inout [UInt8]) { openingEvents.encode(facts, into: &output) }

    func appendText(_ piece: UnsafeBufferPointer<UInt8>, cursor: Int, into output: inout [UInt8]) {
        StreamEvent.appendToken(piece, cursor: cursor, into: &output)
    }

    func appendTerminalEvents(_ ending: TurnEnding, keptBytes: Int, cursor: Int, into output: inout [UInt8]) {
        TerminalEvents(facts: facts, ending: ending, keptBytes: keptBytes, cursor: cursor).encode(into: &output)
    }

    func appendHeartbeat(into output: inout [UInt8]) { EventStreamEncoder.appendPing(into: &output) }

    func appendRetry(into output: inout [UInt8]) {
        EventStreamEncoder.appendRetry(milliseconds: Self.retryMilliseconds, into: &output)
    }
}

/// A follower's place at a turn until a line has it, which gives it back. A connection may outlive many turns, and remembers this of each: so it
/// is empty then.
private final class PendingSubscription: Sendable {
    private let place: Mutex<(subscriber: Subscriber, turn: LiveTurn)?>

    init(_ subscriber: Subscriber, at turn: LiveTurn) { place = Mutex((subscriber, turn)) }

    func pass() { place.withLock { $0 = nil } }

    func leave() {
        guard let (subscriber, turn) = place.withLock({ $0.take() }) else { return }
        turn.remove(subscriber)
    }
}
