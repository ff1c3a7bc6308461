import CoachCore
import Foundation
import HTTPEdge
import HTTPTypes
import Synchronization
import Tracing

/// The spans of a turn: itself, as its children its steps, of which `generate` is the model call, and below that one for each request to a provider
/// (`RequestTracing+spans.swift`). No content. Costs next to nothing when no tracer is installed.
final class TurnTrace: Sendable {
    /// The trace of a request that begins no turn: it records nothing.
    static let none = TurnTrace(NoOpTracer.Span(context: .topLevel))

    private let turn: any Span
    private let call = Mutex<(any Span)?>(nil)

    private init(_ turn: any Span) { self.turn = turn }

    /// A turn that began when its request arrived, as a child of the request's `traceparent`.
    convenience init(_ headers: HTTPFields, arrivedAt: ContinuousClock.Instant) {
        var context = ServiceContext.topLevel
        InstrumentationSystem.tracer.extract(headers, into: &context, using: HeaderExtractor())
        self.init(InstrumentationSystem.tracer.startSpan("turn", context: context, ofKind: .server, at: Self.instant(of: arrivedAt)))
    }

    /// A span of one step, which a thrown error ends, too.
    func step<T, Failure: Error>(_ name: String, _ body: () async throws(Failure) -> T) async throws(Failure) -> T {
        let span = InstrumentationSystem.tracer.startSpan(name, context: turn.context)
        defer { span.end() }
        do throws(Failure) {
            return try await body()
        } catch {
            span.recordError(error)
            throw error
        }
    }

    /// A span of a step that calls a model: `body` gets what makes spans of the call's requests, as children of the step's.
    func step<T>(_ name: String, calling body: (RequestTracing) async -> T) async -> T {
        let span = InstrumentationSystem.tracer.startSpan(name, context: turn.context)
        defer { span.end() }
        return await body(RequestTracing(below: span.context))
    }

    /// Begins the span of the model call of which the client reads the answer.
    func startCall() -> RequestTracing {
        let span = InstrumentationSystem.tracer.startSpan("generate", context: turn.context)
        call.withLock { $0 = span }
        return RequestTracing(below: span.context)
    }

    func endCall(_ outcome: TurnOutcome) {
        guard let span = call.withLock({ $0.take() }) else { return }
        if let fault = outcome.fault {
            span.attributes["error.type"] = fault.kind.rawValue
            span.setStatus(SpanStatus(code: .error))
        }
        span.end()
    }

    /// Ends a turn that is saved.
    func end(_ facts: TurnFacts, _ outcome: TurnOutcome) {
        turn.updateAttributes { attributes in
            attributes["coach.turn.id"] = facts.identity.turnID.description
            attributes["gen_ai.conversation.id"] = facts.identity.conversationID.description
            attributes["coach.turn.status"] = outcome.status.rawValue
            if let domain = facts.domain.domain { attributes["coach.domain"] = domain.rawValue }
        }
        if outcome.status == .failed { turn.setStatus(SpanStatus(code: .error)) }
        turn.end()
    }

    /// Ends a request that began no turn.
    func end() { turn.end() }

    /// Runs the handler of a request for a turn, and ends the span of one that is rejected. A turn that has begun ends by itself.
    func request<T>(_ body: () async throws -> T) async throws -> T {
        do {
            return try await body()
        } catch {
            if (error as? GatewayError)?.hasBegunTurn != true { end(error) }
            throw error
        }
    }

    /// Ends a turn that is rejected.
    func end(_ error: any Error) {
        if let error = error as? GatewayError { turn.attributes["coach.error.code"] = error.code.rawValue }
        turn.recordError(error)
        turn.end()
    }

    private static func instant(of moment: ContinuousClock.Instant) -> DefaultTracerClock.Timestamp {
        let elapsed = moment.duration(to: .now).milliseconds
        let now = DefaultTracerClock.now.nanosecondsSinceEpoch
        return DefaultTracerClock.Timestamp(nanosecondsSinceEpoch: now - UInt64(max(0, elapsed)) * 1_000_000)
    }
}

private struct HeaderExtractor: Extractor {
    func extract(key: String, from headers: HTTPFields) -> String? { HTTPField.Name(key).flatMap { headers[$0] } }
}
