import Foundation
import GatewayAPI
import JSON
import Synchronization
import Testing

@testable import CoachClient

@Suite("Lists and commands", .timeLimit(.minutes(1)))
struct ResourceTests {
    private static let meta = ResponseMeta(requestID: "r-1", timestamp: Timestamp(millisecondsSince1970: 0))
    private static let now = Timestamp(millisecondsSince1970: 1_767_225_600_000)
    private static let message = MessageResource(
        id: Transcript.id(4), conversationID: Transcript.conversation, role: "assistant", content: "Héllo", status: "complete",
        domain: "mindset", createdAt: now, updatedAt: now, turnID: Transcript.turn)
    private static let conversation = ConversationResource(
        id: Transcript.conversation, title: nil, domain: "mindset", personaID: nil, lastMessageAt: now, createdAt: now, updatedAt: now,
        deletedAt: nil)

    private static func envelope(cursor: String? = nil, _ write: (inout JSONWriter) -> Void) -> ScriptedServer.Step {
        let bytes = Envelope.success(
            meta: meta, pagination: Pagination(nextCursor: cursor, nextUpdatedSince: "t2", hasMore: cursor == nil, reset: cursor == nil),
            data: write)
        return ScriptedServer.response("200 OK", headers: ["Content-Type: application/json"], body: String(decoding: bytes, as: UTF8.self))
    }

    private func client(_ server: ScriptedServer) -> CoachClient {
        CoachClient(baseURL: server.url, configuration: .init(sleep: { _ in try Task.checkCancellation() }, jitter: { 0 })) { "t" }
    }

    @Test("an expired token is renewed once, and the request is sent with the new one")
    func expiredToken() async throws {
        let rejection = Envelope.failure(
            ErrorBody(code: .tokenExpired, message: "expired", userMessage: "Please sign in.", action: .reauthenticate), meta: Self.meta)
        let server = try ScriptedServer { request, _ in
            request.headers["authorization"] == "Bearer token-1"
                ? [ScriptedServer.response("401 Unauthorized", body: String(decoding: rejection, as: UTF8.self))]
                : [Self.envelope { writer in writer.array { Self.conversation.write(to: &$0) } }]
        }
        defer { server.stop() }
        let tokens = Mutex(0)
        let client = CoachClient(baseURL: server.url, configuration: .init(sleep: { _ in try Task.checkCancellation() }, jitter: { 0 })) {
            "token-\(tokens.withLock { number in number += 1; return number })"
        }
        #expect(try await client.conversations().elements == [Self.conversation])
        #expect(tokens.withLock(\.self) == 2 && server.requests.count == 2)
    }

    @Test("conversations are listed page by page")
    func conversations() async throws {
        let server = try ScriptedServer { _, number in
            [Self.envelope(cursor: number == 0 ? "a+/b" : nil) { writer in writer.array { Self.conversation.write(to: &$0) } }]
        }
        defer { server.stop() }
        let first = try await client(server).conversations()
        #expect(first.elements == [Self.conversation])
        let second = try await client(server).conversations(limit: 100, cursor: first.nextCursor)
        #expect(second.nextCursor == nil)
        #expect(server.requests.map(\.method) == ["GET", "GET"])
        #expect(server.requests[0].path == "/api/v1/conversations?limit=20")
        let query = URLComponents(string: server.requests[1].path)?.queryItems
        #expect(query?.map(\.value) == ["100", "a+/b"])
        // Many servers decode a plus sign as a space.
        #expect(server.requests[1].path.contains("a%2B"))
    }

    @Test("messages of a conversation are listed, with a time only those changed since")
    func messages() async throws {
        let server = try ScriptedServer { _, _ in [Self.envelope { writer in writer.array { Self.message.write(to: &$0) } }] }
        defer { server.stop() }
        let page = try await client(server).messages(of: Transcript.conversation, updatedSince: "t1")
        #expect(page.elements == [Self.message] && page.nextUpdatedSince == "t2" && page.isReset && page.hasMore && !page.hasNext)
        #expect(server.requests[0].path.hasPrefix("/api/v1/conversations/\(Transcript.conversation.canonicalText)/messages?"))
        #expect(URLComponents(string: server.requests[0].path)?.queryItems?.last?.value == "t1")
    }

    @Test("an export is read as it arrives, also after an attempt that failed; a lost connection is an error")
    func export() async throws {
        let (body, continuation) = AsyncThrowingStream<[UInt8], any Error>.makeStream()
        let attempts = Mutex(0)
        let transport = Transport { _ in
            let isFirst = attempts.withLock { attempts in
                attempts += 1
                return attempts == 1
            }
            if isFirst { throw CancellationError() }
            return Transport.Response(status: 200, headers: [:], body: body)
        }
        let url = try #require(URL(string: "http://127.0.0.1:1"))
        let coach = CoachClient(baseURL: url, configuration: .init(transport: transport, sleep: { _ in }, jitter: { 0 })) { "t" }
        var bytes = try await coach.export().makeAsyncIterator()
        for piece in [[1, 2], [3]] as [[UInt8]] {
            continuation.yield(piece)
            let next = try await bytes.next()
            #expect(next == piece)
        }
        continuation.finish(throwing: CancellationError())
        do {
            _ = try await bytes.next()
            Issue.record("the end is missing")
        } catch let error as CoachError {
            #expect(error.code == .connectionLost)
        }
    }

    @Test("changes have the fields that are set alone; null clears one")
    func changes() {
        #expect(AccountChange().json == [:] && ProfileChange().json == [:])
        let change = AccountChange(displayName: .set("Zoë"), locale: .clear, isMinor: .set(true))
        #expect(change.json == ["display_name": "Zoë", "locale": .null, "is_minor": true])
        #expect(ProfileChange(values: [], situation: [["text": "new job"]]).json == ["values": [], "situation": [["text": "new job"]]])
        let draft = PersonaDraft(name: "Ada", domain: "mindset", tone: "calm", personality: ["kind", "brief"], starters: ["Hello"])
        let expected: JSONValue = [
            "name": "Ada", "description": .null, "domain": "mindset", "tone": "calm", "methodology": .null,
            "personality": ["kind", "brief"],
            "starters": ["Hello"], "languages": [],
        ]
        #expect(draft.json == expected)
    }

    @Test("a stop is repeated until it is answered")
    func stop() async throws {
        let server = try ScriptedServer { _, number in
            number < 2 ? [.reset] : [Self.envelope { $0.null() }]
        }
        defer { server.stop() }
        try await client(server).stop(Transcript.turn)
        #expect(
            server.requests.map { "\($0.method) \($0.path)" }
                == Array(repeating: "POST /functions/v1/chat-stream/\(Transcript.turn.canonicalText)/stop", count: 3))
    }

    @Test("an error response is a typed error, without a retry when it is not retryable")
    func rejection() async throws {
        let body = Envelope.failure(
            ErrorBody(code: .notFound, message: "no such conversation", userMessage: "It is gone.", action: .goBack), meta: Self.meta)
        let server = try ScriptedServer { _, _ in [ScriptedServer.response("404 Not Found", body: String(decoding: body, as: UTF8.self))] }
        defer { server.stop() }
        let error = await #expect(throws: CoachError.self) { try await client(server).messages(of: Transcript.conversation) }
        #expect(error?.code == .gateway(.notFound))
        #expect(error?.requestID == "r-1")
        #expect(server.requests.count == 1)
    }

    @Test("a page of a captive portal is an error, not an empty list")
    func captivePortal() async throws {
        let server = try ScriptedServer { _, _ in [ScriptedServer.response("200 OK", body: "<html>Welcome!</html>")] }
        defer { server.stop() }
        let error = await #expect(throws: CoachError.self) { try await client(server).conversations() }
        #expect(error?.code == .unreadable)
        #expect(server.requests.count == 3)
    }

    @Test("a cancelled caller gets a CancellationError, not a lost connection")
    func cancellation() async throws {
        let (asked, question) = AsyncStream<Void>.makeStream()
        let server = try ScriptedServer { _, _ in
            question.finish()
            return [.hold()]
        }
        defer { server.stop() }
        let client = client(server)
        let caller = Task { try await client.conversations().elements }
        for await _ in asked {}
        caller.cancel()
        await #expect(throws: CancellationError.self) { try await caller.value }
    }
}
