import CoachCore
import GatewayAPI
import HTTPEdge
import HTTPTypes
import Hummingbird
import JSON
import TokenRelay

/// `/functions/v1/chat-stream`: starts, resumes, stops and retries turns.
public struct ChatRoutes: Feature {
    private let coaching: LiveValue<CoachingConfiguration>
    private let common: TurnPipeline

    /// The pipeline for one request, with the current coaching configuration, which does not change during the request.
    var pipeline: TurnPipeline {
        var pipeline = common
        pipeline.coaching = coaching.current
        return pipeline
    }

    public init(
        coaching: LiveValue<CoachingConfiguration>, repository: TurnRepository, records: CallRecordStore, recovery: TurnRecovery,
        counter: RequestCounter,
        tiers: LiveValue<TierBook>, models: TierModels, judge: SafetyJudge? = nil, budgets: SharedBudgets, finalizer: TurnFinalizer,
        registry: TurnRegistry, remoteTurns: RemoteTurnTailer,
        recentDanger: RecentDanger, admission: Admission, streamLoop: StreamLoop,
        drafts: @escaping @Sendable (Caller, PersonaID) async throws -> PersonaRecord
    ) {
        self.coaching = coaching
        common = TurnPipeline(
            coaching: coaching.current, repository: repository, records: records, recovery: recovery, counter: counter, tiers: tiers,
            models: models, encoderQueue: EncoderQueue(), recentDanger: recentDanger, judge: judge, budgets: budgets,
            finalizer: finalizer, registry: registry, remoteTurns: remoteTurns, admission: admission, streamLoop: streamLoop,
            errors: ErrorReporter(logger: finalizer.logger), drafts: drafts)
    }

    public func register(on routes: RouteTable) {
        let turns = routes.authenticated("Turns")
        // `begin_turn` counts in the same round trip.
        let beginning = turns.counting(.byHandler)
        // A turn of this instance is resumed and stopped without the database.
        let running = turns.counting(.beforeHandlerIfPossible)
        beginning.post(
            "/functions/v1/chat-stream",
            .init(
                "Start a turn and stream its answer", parameters: [.idempotencyKey],
                body: ChatRequest.body, response: .events(StreamEvent.schema), failures: [409])
        ) { try await start($0, $1) }
        routes.authenticated("Personas").require(.creator).counting(.byHandler).post(
            "/api/v1/personas/{id}/preview",
            .init(
                "Try the draft of a persona: stream one answer to a message, of which only the cost is kept",
                parameters: [.idempotencyKey], body: ChatRequest.preview,
                response: .events(StreamEvent.schema), failures: [409])
        ) { request, context in
            try await start(request, context, previewing: try context.path("id", PersonaID.init(validating:)))
        }
        running.get(
            "/functions/v1/chat-stream/{turn_id}",
            .init(
                "Stream a turn after a byte of its answer",
                parameters: [.init("Last-Event-ID", in: .header, .text), .init("after", in: .query, .text)],
                response: .events(StreamEvent.schema), failures: [409])
        ) { try await resume($0, $1) }
        running.post(
            "/functions/v1/chat-stream/{turn_id}/stop",
            .init("Stop a turn", response: .data(.object([.init("turn_id", .id), .init("status", .text)])))
        ) { try await stop($0, $1) }
        beginning.post(
            "/functions/v1/chat-stream/{turn_id}/retry",
            .init(
                "Start a new turn on the same user message", parameters: [.idempotencyKey],
                response: .events(StreamEvent.schema), failures: [409])
        ) { request, context in
            let http = TurnHTTPRequest.beginning(request, context)
            return try await http.trace.request { try await pipeline.retry(try turnID(context), http) }
        }
    }

    private func start(_ request: Request, _ context: AuthenticatedContext, previewing persona: PersonaID? = nil) async throws -> Response {
        var http = TurnHTTPRequest.beginning(request, context, body: try await request.collectBytes())
        http.previewedPersona = persona
        let pipeline = pipeline
        return try await http.trace.request {
            do {
                return try await pipeline.run(http)
            } catch let findings as JSONFindings {
                throw await pipeline.malformed(findings, http)
            }
        }
    }

    private func resume(_ request: Request, _ context: AuthenticatedContext) async throws -> Response {
        let http = TurnHTTPRequest(request, context)
        let cursor = try cursor(of: request)
        let pipeline = pipeline
        let turn = try await pipeline.find(try turnID(context), http)
        let subscription = TurnSubscription(turn: turn)
        if cursor.position > turn.releasedBytes {
            if turn.facts.hasLostAttempt, turn.ending != nil || pipeline.isLocal(turn) { return pipeline.relayLost(turn, http) }
            if let ending = turn.ending, ending.finishReason != nil, !ending.isByCrash {
                throw pipeline.rejected(
                    GatewayError(.invalidInput, TerminalEvents.beyondMessage).naming(field: "after"), turn)
            }
        }
        return try pipeline.relay(subscription, from: cursor, http)
    }

    private func stop(_ request: Request, _ context: AuthenticatedContext) async throws -> Response {
        let turnID = try turnID(context)
        let status = try await pipeline.stop(turnID, TurnHTTPRequest(request, context)).ending?.status ?? .running
        return .envelope(context) { writer in
            writer.object { writer in
                writer.member("turn_id", turnID.uuid)
                writer.member("status", status.rawValue)
            }
        }
    }

    private func turnID(_ context: AuthenticatedContext) throws(GatewayError) -> TurnID {
        try context.path("turn_id", TurnID.init(validating:))
    }

    /// The cursor of a resume, in UTF-8 bytes: `Last-Event-ID`, else `?after=`, else 0.
    private func cursor(of request: Request) throws(GatewayError) -> Cursor {
        // Some clients send an empty header when they have received nothing.
        let texts = [request.headers[.lastEventID], request.uri.queryParameters["after"].map(String.init)]
        guard let text = texts.lazy.compactMap({ $0 }).first(where: { !$0.isEmpty }) else { return .start }
        guard let position = Int(text), position >= 0 else {
            throw GatewayError(.invalidInput, "the cursor must be a number of bytes").naming(field: "after")
        }
        return Cursor(after: position)
    }
}
