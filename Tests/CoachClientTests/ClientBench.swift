import Foundation
import GatewayAPI
import Synchronization
import Testing

@testable import CoachClient

/// Makes clients of a scripted server. Their pauses take no time and are recorded.
final class ClientBench: Sendable {
    let server: ScriptedServer
    /// Longer than any pause of a retry, so that the two can be distinguished.
    private static let tick = Duration.seconds(1000)
    private let state = Mutex((pauses: [Duration](), tokens: 0))

    init(_ script: @escaping @Sendable (ScriptedServer.Request, Int) -> [ScriptedServer.Step]) throws {
        server = try ScriptedServer(script)
    }

    deinit { server.stop() }

    var pauses: [Duration] { state.withLock { $0.pauses } }
    var tokens: Int { state.withLock { $0.tokens } }

    /// - Parameters:
    ///   - isSilent: polled until it is true; then the idle timeout elapses.
    ///   - renewal: fails for the number of a token that cannot be had.
    func client(
        isSilent: @escaping @Sendable () -> Bool = { false }, renewal: @escaping @Sendable (Int) throws -> Void = { _ in }
    ) -> CoachClient {
        var configuration = CoachClient.Configuration(
            sleep: { [self] pause in
                if pause == Self.tick {
                    repeat { try await Task.sleep(for: .milliseconds(1)) } while !isSilent()
                } else {
                    state.withLock { $0.pauses.append(pause) }
                }
            }, jitter: { 0 })
        configuration.idleTimeout = Self.tick * StreamSession.ticksPerIdleTimeout
        return CoachClient(baseURL: server.url, configuration: configuration) { [self] in
            try state.withLock { state in
                state.tokens += 1
                try renewal(state.tokens)
                return "token-\(state.tokens)"
            }
        }
    }

    static func receive(_ stream: AsyncThrowingStream<StreamEvent, any Error>) async throws -> Reception {
        var reception = Reception()
        for try await event in stream { reception.take(event) }
        return reception
    }

    static func error(_ stream: AsyncThrowingStream<StreamEvent, any Error>) async throws -> CoachError {
        var caught: CoachError?
        do {
            for try await _ in stream {}
        } catch {
            caught = error as? CoachError
        }
        return try #require(caught)
    }
}

extension ScriptedServer.Request {
    /// The value of `Last-Event-ID`, or 0.
    var position: Int { headers["last-event-id"].flatMap { Int($0) } ?? 0 }
}

extension ScriptedServer {
    static func stream(_ bytes: some Sequence<UInt8>) -> [Step] { [.send(streamHead), .send(Array(bytes))] }

    static func rejection(_ status: String, headers: [String] = [], _ failure: StreamFailure) -> [Step] {
        var body: [UInt8] = []
        StreamEvent.error(failure).encode(cursor: 0, into: &body)
        return [response(status, headers: ["Content-Type: text/event-stream"] + headers, body: String(decoding: body, as: UTF8.self))]
    }
}
