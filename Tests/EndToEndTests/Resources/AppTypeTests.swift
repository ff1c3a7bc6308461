import Foundation
import Testing

/// Answers, decoded by the types that the app declares.
@Suite("Types of the app", .paced)
struct AppTypeTests {
    private struct ChatMessage: Decodable, Equatable {
        let id: UUID
        let conversationId: UUID
        let content: String
        let createdAt: Date

        enum CodingKeys: String, CodingKey {
            case id
            case conversationId = "conversation_id"
            case content
            case createdAt = "created_at"
        }
    }

    private struct Enveloped<Content: Decodable>: Decodable { let data: Content }
    private struct WithMessage: Decodable { let message: ChatMessage? }
    private struct Changes: Decodable { let changes: [WithMessage] }

    /// The decoder of `Sources/GatewayAPI/README.md`.
    private static var decoder: JSONDecoder {
        let (decoder, style) = (JSONDecoder(), Date.ISO8601FormatStyle(includingFractionalSeconds: true))
        decoder.dateDecodingStrategy = .custom { try style.parse($0.singleValueContainer().decode(String.self)) }
        return decoder
    }

    private func decoded<Content: Decodable>(_ user: TestUser, _ path: String, as type: Content.Type) async throws -> Content {
        let answer = try await user.send("GET", "/api/v1/\(path)")
        return try Self.decoder.decode(Enveloped<Content>.self, from: Data(answer.body)).data
    }

    @Test("a message is the app's ChatMessage in each route that has messages")
    func messages() async throws {
        let user = try await TestBed.shared().testUser()
        let (word, began) = (marker(), Date())
        let answer = try await user.chat("Hello \(word) \(sim(["words": 2]))")
        let conversation = try #require(answer.first("start")?["conversation_id"])
        let messages = try await decoded(user, "conversations/\(conversation)/messages", as: [ChatMessage].self)
        #expect(messages.count == 2 && messages.allSatisfy { $0.conversationId == UUID(uuidString: conversation) })
        #expect(messages.first?.content.contains(word) == true && messages.last?.content == answer.content)
        #expect(messages.allSatisfy { abs($0.createdAt.timeIntervalSince(began)) < 60 })
        let changes = try await decoded(user, "sync", as: Changes.self).changes.compactMap(\.message)
        #expect(changes.count == 2 && changes.allSatisfy { messages.contains($0) })
        let found = try await decoded(user, "messages/search?q=\(word)", as: [WithMessage].self)
        #expect(found.contains { $0.message == messages.first })
    }
}
