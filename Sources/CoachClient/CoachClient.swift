import Foundation
import GatewayAPI
import JSON

/// A client of a coach gateway. Streams answers, which it resumes after a lost connection, reads and changes all resources of users and creators,
/// and keeps a copy for times without a network (`CoachCache`).
///
/// ```swift
/// let coach = CoachClient(baseURL: url) { try await session.accessToken }
/// for try await event in coach.send("I keep putting things off.") {
///     if case .token(let content) = event { text += content }
/// }
/// ```
/// The value holds no mutable state and can be copied and used from any task.
public struct CoachClient: Sendable {
    let requestBuilder: RequestBuilder
    let configuration: Configuration

    /// - Parameters:
    ///   - baseURL: the URL below which the gateway serves `/functions/v1` and `/api/v1`.
    ///   - token: returns a valid access token. Called before every request, and once more when the gateway answers that the token
    ///     has expired. What it throws is reported as `CoachError.Code.noToken`, for which the user must sign in again. A `URLError`, thrown or
    ///     wrapped as an underlying error (`NSUnderlyingErrorKey`), is `unreachable`, and the token is tried again. An SDK for signing in whose
    ///     errors hide the `URLError` in another way needs a function that throws it.
    public init(baseURL: URL, configuration: Configuration = Configuration(), token: @escaping @Sendable () async throws -> String) {
        requestBuilder = RequestBuilder(baseURL: baseURL, token: token)
        self.configuration = configuration
    }

    /// Sends a message and streams the answer.
    ///
    /// The stream delivers `start`, then `safety` if the message indicates danger, `token`s, `usage`, and `done` as its last event;
    /// otherwise it throws a `CoachError`. After a lost connection it resumes at the same byte: no text is repeated or missing.
    /// Cancelling the stream closes the connection but does not stop the turn; `stop` does.
    ///
    /// - Parameters:
    ///   - conversation: nil creates one; `start` has its id.
    ///   - persona: nil keeps the persona of the conversation.
    ///   - domain: one of the seven domains, instead of the router's choice.
    ///   - clientMessageID: the idempotency key. Sending a message again with the same key never creates a second turn. An app can
    ///     store it with an unsent message and send both after a restart.
    public func send(
        _ message: String, conversation: UUID? = nil, persona: UUID? = nil, domain: String? = nil,
        clientMessageID: String = UUID.random().canonicalText
    ) -> AsyncThrowingStream<StreamEvent, any Error> {
        guard let key = IdempotencyKey(clientMessageID) else {
            return AsyncThrowingStream {
                $0.finish(throwing: CoachError.invalid("clientMessageID must be 1–128 printable ASCII characters"))
            }
        }
        return send(
            ChatRequest(message: message, conversationID: conversation, personaID: persona, domain: domain, clientMessageID: key))
    }

    /// Sends a request with any of its fields, and streams the answer. Adds a `clientMessageID` if there is none.
    public func send(_ request: ChatRequest) -> AsyncThrowingStream<StreamEvent, any Error> {
        var request = request
        request.clientMessageID = request.clientMessageID ?? IdempotencyKey(UUID.random().canonicalText)
        return stream("functions/v1/chat-stream", body: request.encode(), ResumeMachine(policy: configuration.retry))
    }

    /// Streams the answer of an earlier turn, which may still be running or be complete.
    ///
    /// - Parameter received: the UTF-8 bytes of the answer that the app already has; only the text after them is delivered.
    public func resume(_ turn: UUID, after received: Int = 0) -> AsyncThrowingStream<StreamEvent, any Error> {
        stream("", body: [], ResumeMachine(resuming: turn, received: received, policy: configuration.retry))
    }

    /// Answers the turn's message again in a new turn, whose answer replaces the old one in the conversation.
    ///
    /// - Parameter key: the idempotency key, a UUID: a retry that is repeated with the same one begins no second turn.
    public func retry(_ turn: UUID, key: UUID = .random()) -> AsyncThrowingStream<StreamEvent, any Error> {
        stream(
            "functions/v1/chat-stream/\(turn.canonicalText)/retry", body: [], headers: ["Idempotency-Key": key.canonicalText],
            ResumeMachine(policy: configuration.retry))
    }

    /// Stops the turn. The text generated so far is kept, and its streams end with `done`. Has no effect on a turn that has ended.
    public func stop(_ turn: UUID) async throws {
        var request = ResourceRequest("POST", "")
        request.path = "functions/v1/chat-stream/\(turn.canonicalText)/stop"
        try await perform(request)
    }

    func stream(
        _ path: String, body: [UInt8], headers: [String: String] = [:], _ machine: ResumeMachine
    ) -> AsyncThrowingStream<StreamEvent, any Error> {
        StreamDriver(requestBuilder: requestBuilder, configuration: configuration, path: path, body: body, headers: headers).events(machine)
    }
}
