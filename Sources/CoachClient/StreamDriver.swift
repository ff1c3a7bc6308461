import Foundation
import GatewayAPI
import JSON

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Performs the I/O of a `StreamSession`: connects, passes it the received bytes, and waits.
struct StreamDriver: Sendable {
    let requestBuilder: RequestBuilder
    let configuration: CoachClient.Configuration
    /// The path, body and headers of the request that starts the turn. Requests that resume it have their own.
    let path: String
    let body: [UInt8]
    let headers: [String: String]

    private static let stream = "text/event-stream"

    /// Streams the events of the whole answer, over one or more connections.
    func events(_ machine: ResumeMachine) -> AsyncThrowingStream<StreamEvent, any Error> {
        AsyncThrowingStream { events in
            // Cancelled by `onTermination`, when the stream is released or its reader is cancelled.
            let task = Task {
                do {
                    try await run(StreamSession(machine)) { events.yield($0) }
                    events.finish()
                } catch {
                    events.finish(throwing: error)
                }
            }
            events.onTermination = { _ in task.cancel() }
        }
    }

    private func run(_ session: StreamSession, deliver: (StreamEvent) -> Void) async throws {
        var session = session
        while true {
            session.connect()
            let pause: Duration
            do {
                let request = try await request(session.machine.next)
                guard let wanted = try await connection(request, &session, deliver) else { return }
                pause = wanted
            } catch let error as UnsentRequest {
                pause = try session.unsent(error.cause, jitter: configuration.jitter())
            }
            try await configuration.sleep(pause)
        }
    }

    /// Throws `UnsentRequest`, and `CancellationError`.
    private func request(_ connection: ResumeMachine.Connection) async throws -> URLRequest {
        switch connection {
        case .start:
            try await requestBuilder.request("POST", path, accept: Self.stream, body: body, headers: headers)
        case .resume(let turn, let received):
            try await requestBuilder.request(
                "GET", "functions/v1/chat-stream/\(turn.canonicalText)", accept: Self.stream, lastEventID: received)
        }
    }

    /// Runs one connection. Returns the pause before the next one; nil when the answer is complete.
    private func connection(
        _ request: URLRequest, _ session: inout StreamSession, _ deliver: (StreamEvent) -> Void
    ) async throws -> Duration? {
        let (inputs, input) = AsyncStream<StreamSession.Input>.makeStream()
        return try await withThrowingTaskGroup(of: Void.self) { group in
            defer { group.cancelAll() }
            group.addTask { await receive(request, into: input) }
            group.addTask {
                while true {
                    try await configuration.sleep(configuration.idleTimeout / StreamSession.ticksPerIdleTimeout)
                    input.yield(.tick)
                }
            }
            for await input in inputs {
                for step in session.receive(input, jitter: configuration.jitter()) {
                    switch step {
                    case .deliver(let event): deliver(event)
                    case .reconnect(let pause): return pause
                    case .finish: return nil
                    case .fail(let error): throw error
                    }
                }
            }
            // The input stream ends only when the task is cancelled.
            throw CancellationError()
        }
    }

    private func receive(_ request: URLRequest, into input: AsyncStream<StreamSession.Input>.Continuation) async {
        do {
            let response = try await configuration.transport.stream(request)
            input.yield(.head(ResponseHead(status: response.status, headers: response.headers)))
            for try await bytes in response.body { input.yield(.bytes(bytes)) }
            input.yield(.end)
        } catch {
            input.yield(.failure(error))
        }
    }
}
