import CoachCore
import EventStream
import Foundation
import GatewayAPI
import HTTPEdge
import HTTPTypes
import Hummingbird
import JSON

/// `GET /api/v1/operator/events`: server-sent events that tell a dashboard when to read again. They have no figures.
public struct EventRoutes: Feature {
    /// Ticks between heartbeats, and between checks that the reader may still read: 10 s, in which a suspension works (CONTRACT §5).
    private static let ticks = 5
    /// How long a browser waits before it connects again.
    private static let retryMilliseconds = 3_000

    private let events: FigureEvents

    public init(events: FigureEvents) { self.events = events }

    public func register(on routes: RouteTable) {
        let sessions = routes.browserSessions
        routes.authenticated("Figures").require(.operator).get(
            "/api/v1/operator/events",
            .init(
                "Stream an event when figures are newer, or an alert began or ended; with `Accept: application/json` the present state",
                response: .media([
                    "application/json": Envelope.schema(data: FigureState.schema),
                    RouteResponse.eventStream: .serverSentEvent(of: FigureState.schema),
                ]), failures: [429])
        ) { request, context in
            let state = try await events.state()
            if request.preferredType(of: ["application/json", "text/event-stream"]) == "application/json" {
                return .envelope(context) { state.write(to: &$0) }
            }
            guard let viewer = events.join() else {
                throw GatewayError(.rateLimited, "too many streams of events on this instance", retryAfter: 30, limit: .streams)
            }
            let (caller, goesOn) = (context.caller, sessions.continuation(of: request))
            let isAllowed = { @Sendable () async -> Bool in
                guard await goesOn() else { return false }
                do { try await events.authorize(caller) } catch { return !(error is NotAllowed) }
                return true
            }
            return Self.stream(from: state, viewer, until: caller.expiresAt, isAllowed)
        }
    }

    private static func stream(
        from first: FigureState, _ viewer: FigureViewer, until end: Date, _ isAllowed: @escaping @Sendable () async -> Bool
    ) -> Response {
        var fields = HTTPFields()
        fields.writeEventStream()
        let body = ResponseBody { writer in
            var (bytes, sent, ticks) = ([UInt8](), first, 0)
            EventStreamEncoder.appendRetry(milliseconds: retryMilliseconds, into: &bytes)
            first.appendEvent(to: &bytes)
            try await writer.write(ByteBuffer(bytes: bytes))
            for await state in viewer.states {
                guard Date() < end else { break }
                ticks += 1
                let isDue = ticks % Self.ticks == 0
                if isDue, await !isAllowed() { break }
                bytes.removeAll(keepingCapacity: true)
                if state != sent {
                    state.appendEvent(to: &bytes)
                    sent = state
                } else if isDue {
                    EventStreamEncoder.appendPing(into: &bytes)
                }
                if !bytes.isEmpty { try await writer.write(ByteBuffer(bytes: bytes)) }
            }
            try await writer.finish(nil)
        }
        return Response(status: .ok, headers: fields, body: body)
    }
}

extension FigureState {
    static let schema = Schema.object([.init("as_of", .time.nullable), .init("alerts_changed_at", .time.nullable)]).named("FigureState")

    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("as_of", asOf.map { Timestamp($0).rfc3339 })
            writer.member("alerts_changed_at", alertsChangedAt.map { Timestamp($0).rfc3339 })
        }
    }

    fileprivate func appendEvent(to bytes: inout [UInt8]) {
        EventStreamEncoder.beginEvent(id: asOf.map { Int($0.timeIntervalSince1970 * 1000) } ?? 0, into: &bytes)
        bytes += JSONWriter.encode { write(to: &$0) }
        EventStreamEncoder.endEvent(into: &bytes)
    }
}
