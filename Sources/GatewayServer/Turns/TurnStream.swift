import CoachCore
import EventStream
import GatewayAPI
import HTTPTypes
import Hummingbird
import NIOCore
import TokenRelay

/// Tells a turn to one client: greeting, everything after its cursor, the end. A client that is slow or gone concerns nobody else.
struct TurnStream: Sendable {
    let turn: LiveTurn
    let cursor: Cursor
    let greeting: Greeting
    let heartbeat: Heartbeat

    /// Bytes of answer text that one write takes at most: what a slow client holds in memory is one write.
    private static let pieceBytes = 8 * 1024
    /// What a client that is handed over waits before it resumes.
    private static let retryMilliseconds = 500

    /// The response; its head and first event leave before the model has said anything.
    func response(follower: Follower, channel: any Channel, rate: RateLimit?) -> Response {
        var fields = HTTPFields()
        fields.writeEventStream()
        rate?.write(to: &fields)
        // A slow client holds this much in memory and no more; the rest waits where it is, in the answer.
        _ = channel.setOption(.writeBufferWaterMark, value: .init(low: Self.pieceBytes, high: 2 * Self.pieceBytes))
        // Also when the client is gone before the body begins; weakly, because a connection may outlive many turns.
        channel.closeFuture.whenComplete { [weak follower, weak turn] _ in
            guard let follower else { return }
            follower.ring(.gone)
            turn?.remove(follower)
        }
        let body = ResponseBody { writer in
            defer { turn.remove(follower) }
            let beat = heartbeat.start(on: channel.eventLoop, ringing: follower) { channel.close(promise: nil) }
            defer { beat.stop() }
            try await tell(to: &writer, follower: follower, beat: beat)
            try await writer.finish(nil)
        }
        return Response(status: .ok, headers: fields, body: body)
    }

    @concurrent private func tell(to writer: inout any ResponseBodyWriter, follower: Follower, beat: Heartbeat.Beat) async throws {
        var cursor = cursor
        turn.align(&cursor)
        var bytes: [UInt8] = []
        greeting.encode(turn.facts, into: &bytes)
        while true {
            var ended = false
            // What can be told now goes out in one write.
            let step = follower.isPatient && turn.ending == nil ? .waiting : turn.step(&cursor, maximum: Self.pieceBytes)
            switch step {
            case .text(let piece): StreamEvent.appendToken(piece, cursor: cursor.position, into: &bytes)
            case .ended(let ending):
                Farewell(facts: turn.facts, ending: ending, keptBytes: turn.releasedBytes, cursor: cursor).encode(into: &bytes)
                ended = true
            case .waiting: break
            }
            if !bytes.isEmpty {
                beat.willWrite()
                try await writer.write(ByteBuffer(bytes: bytes))
                beat.wrote()
                bytes.removeAll(keepingCapacity: true)
                if ended { return }
                continue
            }
            switch await follower.next() {
            case .progressed: continue
            case .heartbeat: bytes += Heartbeat.comment
            case .gone: return
            case .handOver:
                // No `done`: the client is to resume, here or on another instance.
                EventStreamEncoder.appendRetry(milliseconds: Self.retryMilliseconds, into: &bytes)
                return try await writer.write(ByteBuffer(bytes: bytes))
            }
        }
    }
}
