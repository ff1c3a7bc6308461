import Foundation
import GatewayAPI
import JSON
import Testing

@testable import CoachClient

@Suite("A cache that is brought up to date", .timeLimit(.minutes(1)))
struct SynchronisationTests {
    private typealias Change = SyncResource.Change

    private func client(_ server: ScriptedServer) -> CoachClient {
        CoachClient(baseURL: server.url, configuration: .init(sleep: { _ in try Task.checkCancellation() }, jitter: { 0 })) { "t" }
    }

    private static func answer(_ page: SyncResource) -> ScriptedServer.Step {
        let bytes = Envelope.success(
            meta: ResponseMeta(requestID: "r", timestamp: .now), pagination: nil, data: { page.write(to: &$0) })
        return ScriptedServer.response("200 OK", headers: ["Content-Type: application/json"], body: String(decoding: bytes, as: UTF8.self))
    }

    private static func page(_ changes: [Change], next: String, hasMore: Bool = false, reset: Bool = false) -> ScriptedServer.Step {
        answer(SyncResource(changes: changes, next: next, hasMore: hasMore, reset: reset))
    }

    private static let (first, second) = (UUID(), UUID())

    private static func conversation(_ id: UUID, isDeleted: Bool = false) -> Change {
        .conversation(
            ConversationResource(
                id: id, title: "t", domain: nil, personaID: nil, lastMessageAt: nil, createdAt: .now, updatedAt: .now,
                deletedAt: isDeleted ? .now : nil, ephemeral: false))
    }

    private static func message(in conversation: UUID, _ id: UUID = UUID()) -> Change {
        .message(
            MessageResource(
                id: id, conversationID: conversation, role: "user", content: "m", status: "complete", domain: nil, createdAt: .now,
                updatedAt: .now, turnID: nil), conversationID: conversation)
    }

    private static func profile(_ version: Int64) -> Change {
        .profile(ContextProfileResource(version: version, values: [], goals: [], situation: [], updatedAt: nil))
    }

    /// Two conversations with a message each.
    private static let beginning = [
        conversation(first), message(in: first), conversation(second), message(in: second), profile(1),
    ]

    private func queries(_ server: ScriptedServer) -> [String] {
        server.requests.map { $0.path.replacing("/api/v1/sync", with: "") }
    }

    @Test("drops a deleted conversation with its messages, and no other")
    func tombstone() async throws {
        let server = try ScriptedServer { _, number in
            [
                number == 0
                    ? Self.page(Self.beginning, next: "a") : Self.page([Self.conversation(Self.first, isDeleted: true)], next: "b")
            ]
        }
        defer { server.stop() }
        let (client, cache) = (client(server), MemoryCache())
        #expect(try await client.synchronise(cache) == 5)
        #expect(await Set(cache.conversations.keys) == [Self.first, Self.second])
        #expect(try await client.synchronise(cache) == 1)
        #expect(await Set(cache.conversations.keys) == [Self.second])
        #expect(await cache.messages.mapValues(\.count) == [Self.second: 1])
        #expect(await cache.profile?.version == 1)
        #expect(queries(server) == ["?limit=100", "?since=a&limit=100"])
    }

    @Test("drops everything before a page that resets it, and goes on from there")
    func reset() async throws {
        let server = try ScriptedServer { _, number in
            switch number {
            case 0: [Self.page(Self.beginning, next: "a")]
            case 1: [Self.page([Self.conversation(Self.second)], next: "b", hasMore: true, reset: true)]
            default: [Self.page([Self.message(in: Self.second)], next: "c")]
            }
        }
        defer { server.stop() }
        let (client, cache) = (client(server), MemoryCache())
        try await client.synchronise(cache)
        #expect(try await client.synchronise(cache) == 2)
        #expect(await Set(cache.conversations.keys) == [Self.second])
        #expect(await cache.messages.mapValues(\.count) == [Self.second: 1])
        #expect(await cache.profile == nil)
        #expect(await cache.position() == "c")
        #expect(queries(server) == ["?limit=100", "?since=a&limit=100", "?since=b&limit=100"])
    }

    @Test("keeps the pages before a failure, and goes on after them the next time")
    func failure() async throws {
        let rejection = Envelope.failure(
            ErrorBody(code: .invalidInput, message: "", userMessage: "", action: .fixInput),
            meta: ResponseMeta(requestID: "r", timestamp: .now))
        let server = try ScriptedServer { _, number in
            switch number {
            case 0: [Self.page([Self.conversation(Self.first), Self.message(in: Self.first)], next: "a", hasMore: true)]
            case 1: [ScriptedServer.response("422 Unprocessable Content", body: String(decoding: rejection, as: UTF8.self))]
            default: [Self.page([Self.conversation(Self.second)], next: "b")]
            }
        }
        defer { server.stop() }
        let (client, cache) = (client(server), MemoryCache())
        let error = await #expect(throws: CoachError.self) { try await client.synchronise(cache) }
        #expect(error?.code == .gateway(.invalidInput))
        #expect(await cache.position() == "a")
        #expect(await cache.messages[Self.first]?.count == 1)
        #expect(try await client.synchronise(cache) == 1)
        #expect(await Set(cache.conversations.keys) == [Self.first, Self.second])
        #expect(await cache.position() == "b")
        #expect(queries(server) == ["?limit=100", "?since=a&limit=100", "?since=a&limit=100"])
    }

    @Test("saves no position of a page that could not be applied")
    func refused() async throws {
        struct Full: Error {}
        /// Storage that is full at the second page.
        actor FullCache: CoachCache {
            private(set) var saved: [String] = []
            func position() -> String? { saved.last }
            func apply(_ changes: [SyncResource.Change], reset: Bool, position: String) throws {
                guard saved.isEmpty else { throw Full() }
                saved.append(position)
            }
        }
        let server = try ScriptedServer { _, number in [Self.page([Self.conversation(UUID())], next: "\(number)", hasMore: true)] }
        defer { server.stop() }
        let (client, cache) = (client(server), FullCache())
        for _ in 0..<2 { await #expect(throws: Full.self) { try await client.synchronise(cache) } }
        #expect(queries(server) == ["?limit=100", "?since=0&limit=100", "?since=0&limit=100"])
    }
}
