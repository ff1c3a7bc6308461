import CoachCore
import EventStream
import GatewayAPI
import HTTPEdge
import HTTPTypes
import Hummingbird
import NIOCore
import Synchronization
import TokenRelay

/// Makes the HTTP response that streams a turn to one client. NIO writes the response's head; then the socket is detached and given to the stream
/// loop, which writes the events and closes the connection. This saves memory: NIO and Hummingbird need more of it for a connection than a stream
/// needs here, and a stream may last for minutes.
struct TurnStream: Sendable {
    let turn: LiveTurn
    let cursor: Cursor
    let format: any StreamFormat
    let streamLoop: StreamLoop

    /// The response. Its head and first event are sent before the model's first token.
    func response(subscriber: Subscriber, channel: any Channel) -> Response {
        var fields = HTTPFields()
        fields.writeEventStream()
        fields[.connection] = "close"
        let pending = PendingSubscription(subscriber, at: turn)
        // The client may disconnect before the body begins.
        channel.closeFuture.whenComplete { _ in pending.cancel() }
        let body = ResponseBody { _ in
            defer { pending.cancel() }
            let (descriptor, isChunked) = try await ClientSocket.detach(from: channel)
            pending.transfer()
            streamLoop.open(
                StreamRequest(
                    turn, subscriber: subscriber, from: cursor, format: format, descriptor: descriptor, isChunked: isChunked,
                    onEnd: TurnMetrics.stream))
            channel.close(promise: nil)
        }
        return Response(status: .ok, headers: fields, body: body)
    }
}

/// The gateway's own wire format of a turn: server-sent events (CONTRACT §4). The OpenAI-compatible routes have others.
struct EventFormat: StreamFormat {
    /// The reconnection delay for a client that must resume on another instance.
    private static let retryMilliseconds = 500

    let openingEvents: OpeningEvents
    let facts: TurnFacts
    /// The crisis resources for an error; see `TurnPipeline.failureSafety`.
    let failureSafety: StreamSafety?
    /// The client's cursor when its stream begins.
    let start: Cursor

    func appendOpeningEvents(into output: inout [UInt8]) { openingEvents.encode(facts, into: &output) }

    func appendText(_ piece: UnsafeBufferPointer<UInt8>, cursor: Int, into output: inout [UInt8]) {
        StreamEvent.appendToken(piece, cursor: cursor, into: &output)
    }

    func appendTerminalEvents(_ ending: TurnEnding, keptBytes: Int, cursor: Int, into output: inout [UInt8]) {
        TerminalEvents(
            facts: facts, ending: ending, failureSafety: failureSafety, keptBytes: keptBytes, cursor: cursor, start: start.position
        ).encode(into: &output)
    }

    func appendHeartbeat(into output: inout [UInt8]) { EventStreamEncoder.appendPing(into: &output) }

    func appendRetry(into output: inout [UInt8]) {
        EventStreamEncoder.appendRetry(milliseconds: Self.retryMilliseconds, into: &output)
    }
}

/// Removes a subscriber from its turn, unless the stream loop takes it over first. It is emptied afterwards, because the connection's close
/// future retains it, and a connection may serve many turns.
private final class PendingSubscription: Sendable {
    private let pending: Mutex<(subscriber: Subscriber, turn: LiveTurn)?>

    init(_ subscriber: Subscriber, at turn: LiveTurn) { pending = Mutex((subscriber, turn)) }

    /// The stream loop removes the subscriber from now on.
    func transfer() { pending.withLock { $0 = nil } }

    func cancel() {
        guard let (subscriber, turn) = pending.withLock({ $0.take() }) else { return }
        turn.remove(subscriber)
    }
}
