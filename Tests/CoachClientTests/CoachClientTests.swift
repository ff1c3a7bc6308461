import Foundation
import GatewayAPI
import Synchronization
import Testing

@testable import CoachClient

@Suite("The client over real connections", .timeLimit(.minutes(2)))
struct CoachClientTests {
    private static let message = "I keep putting things off."

    @Test("a message is sent in the contract's format, and its answer is delivered")
    func plain() async throws {
        let bench = try ClientBench { _, _ in ScriptedServer.stream(Transcript.wire()) }
        var events: [StreamEvent] = []
        let stream = bench.client().send(
            Self.message, conversation: Transcript.conversation, persona: Transcript.id(8), domain: "mindset", clientMessageID: "key-1")
        for try await event in stream { events.append(event) }
        #expect(events == Transcript.events)
        let request = try #require(bench.server.requests.first)
        #expect(request.method == "POST")
        #expect(request.path == "/functions/v1/chat-stream")
        #expect(request.headers["authorization"] == "Bearer token-1")
        #expect(request.headers["accept"] == "text/event-stream")
        #expect(request.headers["content-type"] == "application/json")
        let body = try ChatRequest.parse(Array(request.body.utf8))
        #expect(body.message == Self.message)
        #expect(body.conversationID == Transcript.conversation)
        #expect(body.personaID == Transcript.id(8))
        #expect(body.domain == "mindset")
        #expect(body.clientMessageID?.text == "key-1")
    }

    @Test("a base URL may have a path of its own")
    func pathOfTheBase() async throws {
        let bench = try ClientBench { _, _ in ScriptedServer.stream(Transcript.wire()) }
        for base in ["coach", "coach/"] {
            let client = CoachClient(baseURL: bench.server.url.appending(path: base)) { "t" }
            #expect(try await ClientBench.receive(client.send(Self.message)) == .whole)
        }
        #expect(Set(bench.server.requests.map(\.path)) == ["/coach/functions/v1/chat-stream"])
    }

    @Test("a retry whose answer is lost is repeated with the same key; the next retry has another")
    func lostRetry() async throws {
        let known = Mutex<Set<String>>([])
        let bench = try ClientBench { request, _ in
            guard let key = request.headers["idempotency-key"] else { return [.reset] }
            return known.withLock { $0.insert(key).inserted } ? [.reset] : ScriptedServer.stream(Transcript.wire())
        }
        for _ in 1...2 { #expect(try await ClientBench.receive(bench.client().retry(Transcript.id(9))) == .whole) }
        #expect(known.withLock { $0.count } == 2 && bench.server.requests.count == 4)
        #expect(Set(bench.server.requests.map(\.path)) == ["/functions/v1/chat-stream/\(Transcript.id(9).canonicalText)/retry"])
    }

    @Test("with the connection cut at every byte, the answer is complete and nothing is repeated")
    func everyCut() async throws {
        let wire = Transcript.wire()
        let known = Mutex<Set<IdempotencyKey>>([])
        let bench = try ClientBench { request, _ in
            if request.method == "GET" { return ScriptedServer.stream(Transcript.wire(after: request.position)) }
            guard let body = try? ChatRequest.parse(Array(request.body.utf8)), let key = body.clientMessageID,
                let length = Int(body.message)
            else { return [.reset] }
            let isFirst = known.withLock { $0.insert(key).inserted }
            return ScriptedServer.stream(isFirst ? Array(wire.prefix(length)) : wire)
        }
        let client = bench.client()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for lane in 0..<8 {
                group.addTask {
                    for length in stride(from: lane, to: wire.count, by: 8) {
                        let reception = try await ClientBench.receive(client.send(String(length)))
                        #expect(reception == .whole, "cut at \(length)")
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(known.withLock { $0.count } == wire.count)
        #expect(bench.pauses.allSatisfy { $0 == .seconds(1) })
        #expect(bench.server.requests.contains { $0.path == "/functions/v1/chat-stream/\(Transcript.turn.canonicalText)" })
    }

    @Test("after a reset in the middle the stream is resumed at the byte where it was lost")
    func reset() async throws {
        let (first, rest) = (Transcript.beginning, Transcript.wire().dropFirst(Transcript.beginning.count))
        let bench = try ClientBench { request, number in
            if number == 0 {
                let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: \(first.count + rest.count)\r\n\r\n"
                return [.send(Array(head.utf8)), .send(first), .reset]
            }
            return ScriptedServer.stream(Transcript.wire(after: request.position))
        }
        #expect(try await ClientBench.receive(bench.client().send(Self.message)) == .whole)
    }

    @Test("a message without a response is sent again with the same id")
    func sameID() async throws {
        let bench = try ClientBench { _, number in number < 2 ? [.reset] : ScriptedServer.stream(Transcript.wire()) }
        #expect(try await ClientBench.receive(bench.client().send(Self.message)) == .whole)
        let keys = try bench.server.requests.map { try ChatRequest.parse(Array($0.body.utf8)).clientMessageID }
        #expect(keys.count == 3)
        #expect(Set(keys).count == 1)
        #expect(bench.pauses == [.seconds(1), .seconds(2)])
    }

    @Test("an unreachable gateway is an error with a text for the user, after three attempts")
    func unreachable() async throws {
        let bench = try ClientBench { _, _ in [.reset] }
        let error = try await ClientBench.error(bench.client().send(Self.message))
        #expect(error.code == .unreachable)
        #expect(error.userMessage == "I couldn't connect right now. Let's try again when you're back online.")
        #expect(error.retryable)
        #expect(bench.server.requests.count == 3)
    }

    @Test("an expired token is renewed once, and the message is sent with the new one")
    func expiredToken() async throws {
        let bench = try ClientBench { request, _ in
            request.headers["authorization"] == "Bearer token-1"
                ? ScriptedServer.rejection("401 Unauthorized", Transcript.failure(.tokenExpired, retryable: false))
                : ScriptedServer.stream(Transcript.wire())
        }
        #expect(try await ClientBench.receive(bench.client().send(Self.message)) == .whole)
        #expect(bench.tokens == 2)
        #expect(bench.pauses == [.zero])
    }

    @Test("a renewed token that is rejected is an error; the token function is not called a third time")
    func rejectedToken() async throws {
        let bench = try ClientBench { _, _ in
            ScriptedServer.rejection("401 Unauthorized", Transcript.failure(.tokenExpired, retryable: false))
        }
        #expect(try await ClientBench.error(bench.client().send(Self.message)).code == .gateway(.tokenExpired))
        #expect(bench.tokens == 2)
    }

    @Test("a token function that fails is an error with its own code")
    func noToken() async throws {
        struct SignedOut: Error {}
        let bench = try ClientBench { _, _ in [] }
        let client = CoachClient(baseURL: bench.server.url) { throw SignedOut() }
        let error = try await ClientBench.error(client.send(Self.message))
        #expect(error.code == .noToken)
        #expect(error.action == .reauthenticate)
        #expect(bench.server.requests.isEmpty)
    }

    @Test("a token that cannot be renewed without a network does not end the stream, which goes on at its byte")
    func offlineToken() async throws {
        let bench = try ClientBench { request, number in
            number == 0
                ? [.send(ScriptedServer.streamHead), .send(Transcript.beginning), .reset]
                : ScriptedServer.stream(Transcript.wire(after: request.position))
        }
        let client = bench.client(renewal: { number in if (2...3).contains(number) { throw URLError(.notConnectedToInternet) } })
        #expect(try await ClientBench.receive(client.send(Self.message)) == .whole)
        #expect(bench.tokens == 4 && bench.server.requests.count == 2)

        let offline = bench.client(renewal: { _ in throw URLError(.notConnectedToInternet) })
        let error = try await ClientBench.error(offline.resume(Transcript.turn, after: 1))
        #expect(error.code == .unreachable && error.retryable && error.turnID == Transcript.turn && error.partial)
        await #expect { _ = try await offline.me() } throws: { ($0 as? CoachError)?.code == .unreachable }
    }

    private struct SignInFailed: CustomNSError {
        var cause: URLError
        var errorUserInfo: [String: Any] { [NSUnderlyingErrorKey: cause] }
    }

    @Test("a network error that an SDK for signing in has wrapped, at any depth, is one; its other errors are not")
    func wrappedTokenErrors() async throws {
        func wrapped(_ error: any Error) -> any Error { NSError(domain: "auth", code: 17, userInfo: [NSUnderlyingErrorKey: error]) }
        let offline = NSError(domain: NSURLErrorDomain, code: URLError.Code.notConnectedToInternet.rawValue)
        let errors: [(any Error, CoachError.Code)] = [
            (offline, .unreachable), (wrapped(wrapped(offline)), .unreachable), (wrapped(URLError(.timedOut)), .unreachable),
            (SignInFailed(cause: URLError(.timedOut)), .unreachable), (wrapped(SignInFailed(cause: URLError(.timedOut))), .unreachable),
            (NSError(domain: "auth", code: 17), .noToken), (wrapped(NSError(domain: "auth", code: 18)), .noToken),
        ]
        for (error, code) in errors {
            let bench = try ClientBench { _, _ in [] }
            let client = bench.client(renewal: { _ in throw error })
            #expect(try await ClientBench.error(client.send(Self.message)).code == code, "\(error)")
        }
    }

    @Test("503 is repeated after the time in Retry-After")
    func retryAfter() async throws {
        let bench = try ClientBench { _, number in
            number == 0
                ? ScriptedServer.rejection("503 Service Unavailable", headers: ["Retry-After: 7"], Transcript.failure(.overloaded))
                : ScriptedServer.stream(Transcript.wire())
        }
        #expect(try await ClientBench.receive(bench.client().send(Self.message)) == .whole)
        #expect(bench.pauses == [.seconds(7)])
    }

    @Test("an error event before the start is a typed error, and the card before it is delivered")
    func rejection() async throws {
        let bench = try ClientBench { _, _ in
            var body: [UInt8] = []
            StreamEvent.safety(Transcript.card).encode(cursor: 0, into: &body)
            var failure = Transcript.failure(.quotaExhausted, retryable: false)
            failure.userMessage = "Let's continue tomorrow."
            failure.action = .upgrade
            StreamEvent.error(failure).encode(cursor: 0, into: &body)
            let headers = ["Content-Type: text/event-stream", "X-Request-ID: r-9"]
            return [ScriptedServer.response("429 Too Many Requests", headers: headers, body: String(decoding: body, as: UTF8.self))]
        }
        var events: [StreamEvent] = []
        do {
            for try await event in bench.client().send(Self.message) { events.append(event) }
            Issue.record("the stream ended without an error")
        } catch {
            let error = try #require(error as? CoachError)
            #expect(error.code == .gateway(.quotaExhausted))
            #expect(error.localizedDescription == "Let's continue tomorrow.")
            #expect(error.action == .upgrade)
            #expect(error.requestID == "r-9")
        }
        #expect(events == [.safety(Transcript.card)])
        #expect(bench.server.requests.count == 1)
    }

    @Test("an error event in the middle ends the stream with the number of kept bytes")
    func partial() async throws {
        let bench = try ClientBench { _, _ in
            var wire: [UInt8] = []
            StreamEvent.start(Transcript.start).encode(cursor: 0, into: &wire)
            StreamEvent.token(content: "Hello").encode(cursor: 5, into: &wire)
            StreamEvent.error(Transcript.failure(partial: true, kept: 3)).encode(cursor: 5, into: &wire)
            return ScriptedServer.stream(wire)
        }
        let error = try await ClientBench.error(bench.client().send(Self.message))
        #expect(error.partial)
        #expect(error.keptBytes == 3)
        #expect(error.turnID == Transcript.turn)
        #expect(bench.server.requests.count == 1)
    }

    @Test("an idle connection is closed, and the answer is resumed on another one")
    func silence() async throws {
        let bench = try ClientBench { request, number in
            number == 0
                ? [.send(ScriptedServer.streamHead), .send(Transcript.beginning), .hold()]
                : ScriptedServer.stream(Transcript.wire(after: request.position))
        }
        let hasBegun = Mutex(false)
        // Only the first connection is idle: a busy machine may be slow to answer the second one.
        let client = bench.client(isSilent: { [bench] in hasBegun.withLock { $0 } && bench.pauses.isEmpty })
        var reception = Reception()
        for try await event in client.send(Self.message) {
            reception.take(event)
            if case .token = event { hasBegun.withLock { $0 = true } }
        }
        #expect(reception == .whole)
        #expect(bench.server.requests.map(\.method) == ["POST", "GET"])
        #expect(bench.pauses == [.seconds(1)])
    }

    @Test("releasing the stream closes the connection")
    func letGo() async throws {
        let (gone, signal) = AsyncStream<Void>.makeStream()
        let bench = try ClientBench { _, _ in [.send(ScriptedServer.streamHead), .send(Transcript.beginning), .hold { signal.finish() }] }
        for try await event in bench.client().send(Self.message) {
            if case .token = event { break }
        }
        for await _ in gone {}
    }

    @Test("an invalid client message id is an error without a request")
    func badKey() async throws {
        let bench = try ClientBench { _, _ in [] }
        #expect(try await ClientBench.error(bench.client().send(Self.message, clientMessageID: "ä")).code == .gateway(.invalidInput))
        #expect(bench.server.requests.isEmpty)
    }

    @Test("an earlier turn is resumed after the text that the app has")
    func resume() async throws {
        let bench = try ClientBench { request, _ in ScriptedServer.stream(Transcript.wire(after: request.position)) }
        let reception = try await ClientBench.receive(bench.client().resume(Transcript.turn, after: 6))
        #expect("Héllo" + reception.text == Transcript.text)
        #expect(bench.server.requests.map(\.method) == ["GET"])
    }

    @Test("retry starts a new turn, which is resumed like any other")
    func retry() async throws {
        let bench = try ClientBench { request, _ in
            request.method == "POST"
                ? ScriptedServer.stream(Transcript.beginning) : ScriptedServer.stream(Transcript.wire(after: request.position))
        }
        #expect(try await ClientBench.receive(bench.client().retry(Transcript.id(7))) == .whole)
        #expect(
            bench.server.requests.map { "\($0.method) \($0.path)" } == [
                "POST /functions/v1/chat-stream/\(Transcript.id(7).canonicalText)/retry",
                "GET /functions/v1/chat-stream/\(Transcript.turn.canonicalText)",
            ])
    }
}
