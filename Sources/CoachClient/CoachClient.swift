import Foundation
import GatewayAPI

/// Talks to a coach gateway: streams answers that survive a lost connection, and reads what was said before.
///
/// ```swift
/// let coach = CoachClient(baseURL: url) { try await session.accessToken }
/// for try await event in coach.send("I keep putting things off.") {
///     if case .token(let content) = event { text += content }
/// }
/// ```
/// A value without state of its own: copy it freely, use it from anywhere.
public struct CoachClient: Sendable {
    let endpoint: Endpoint
    let configuration: Configuration

    /// - Parameters:
    ///   - baseURL: where the gateway's `/functions/v1` and `/api/v1` are.
    ///   - token: gives a valid access token. Asked before every request, and once more when the gateway says that the token
    ///     has expired.
    public init(baseURL: URL, configuration: Configuration = Configuration(), token: @escaping @Sendable () async throws -> String) {
        endpoint = Endpoint(baseURL: baseURL, token: token)
        self.configuration = configuration
    }

    /// Sends a message and streams the answer.
    ///
    /// The stream delivers `start`, then `safety` when there is danger, `token`s, `usage`, and `done` as its last event; it
    /// throws a `CoachError` otherwise. Lost connections are taken up where they were lost: no byte comes twice, none is missing.
    /// Letting go of the stream closes the connection but does not stop the turn; `stop` does.
    ///
    /// - Parameters:
    ///   - conversation: nil begins a new one; `start` says which.
    ///   - domain: pins one of the seven domains.
    ///   - clientMessageID: sending the same message with the same id again never asks the model twice: keep it with an
    ///     unsent message to send it after a restart of the app.
    public func send(
        _ message: String, conversation: UUID? = nil, persona: UUID? = nil, domain: String? = nil,
        clientMessageID: String = UUID().uuidString.lowercased()
    ) -> AsyncThrowingStream<StreamEvent, any Error> {
        guard let key = IdempotencyKey(clientMessageID) else {
            return AsyncThrowingStream {
                $0.finish(throwing: CoachError.invalid("clientMessageID must be 1–128 printable ASCII characters"))
            }
        }
        return send(
            ChatRequest(message: message, conversationID: conversation, personaID: persona, domain: domain, clientMessageID: key))
    }

    /// The same for every field that a message can have. Without a `clientMessageID` it gets one.
    public func send(_ request: ChatRequest) -> AsyncThrowingStream<StreamEvent, any Error> {
        var request = request
        request.clientMessageID = request.clientMessageID ?? IdempotencyKey(UUID().uuidString.lowercased())
        return stream("functions/v1/chat-stream", body: request.encode(), ResumeMachine(.repeatable, policy: configuration.retry))
    }

    /// Streams an answer that was begun earlier, perhaps before the app was restarted. It may still be growing, or be long complete.
    ///
    /// - Parameter received: UTF-8 bytes of the answer that the app has; only what follows them is delivered.
    public func resume(_ turn: UUID, after received: Int = 0) -> AsyncThrowingStream<StreamEvent, any Error> {
        stream("", body: [], ResumeMachine(resuming: turn, received: received, policy: configuration.retry))
    }

    /// Answers the turn's message again, as a new turn. The old answer is kept but no longer counts.
    public func retry(_ turn: UUID) -> AsyncThrowingStream<StreamEvent, any Error> {
        stream("functions/v1/chat-stream/\(turn.pathText)/retry", body: [], ResumeMachine(.once, policy: configuration.retry))
    }

    /// Ends the turn. What was said is kept, and its streams end with `done`. Stopping a turn that has ended does nothing.
    public func stop(_ turn: UUID) async throws {
        _ = try await call("POST", "functions/v1/chat-stream/\(turn.pathText)/stop")
    }

    private func stream(_ path: String, body: [UInt8], _ machine: ResumeMachine) -> AsyncThrowingStream<StreamEvent, any Error> {
        StreamDriver(endpoint: endpoint, configuration: configuration, path: path, body: body).events(machine)
    }
}
