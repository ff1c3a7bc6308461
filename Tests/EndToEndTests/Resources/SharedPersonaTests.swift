import Foundation
import TestSupport
import Testing

@Suite("Personas that are shared", .paced)
struct SharedPersonaTests {
    private static let path = "/api/v1/personas"

    /// A published persona of a new creator, in the public list.
    private func published(_ draft: [String: Any]) async throws -> (creator: TestUser, id: String) {
        let creator = TestUser(gateway: try await TestBed.shared().gateway, role: "creator")
        let id = try #require(try await creator.send("POST", Self.path, draft).data["id"])
        let answer = try await creator.send("POST", "\(Self.path)/\(id)/publish", ["visibility": "listed"])
        #expect(answer.status == 200, "\(answer.text)")
        return (creator, id)
    }

    @Test("a conversation goes on with the version it began with, until its user accepts the newer one")
    func versions() async throws {
        let testBed = try await TestBed.shared()
        let (creator, id) = try await published(["name": "Ada", "tone": "calm as a lake"])
        let user = testBed.testUser()
        func tone(of conversation: String?) async throws -> (conversation: String, system: String) {
            let word = marker()
            let more: [String: Any] = conversation.map { ["conversation_id": $0] } ?? ["persona_id": id]
            let answer = try await user.chat("hello \(word) \(sim(["words": 1]))", more)
            expectDone(answer)
            let asked = try #require(try await testBed.simulator.requests(containing: word).last)
            return (try #require(answer.first("start")?["conversation_id"]), asked.system)
        }
        let (conversation, first) = try await tone(of: nil)
        #expect(first.contains("calm as a lake"))
        let route = "/api/v1/conversations/\(conversation)/persona-version"
        let changed = try await creator.send(
            "PUT", "\(Self.path)/\(id)", ["name": "Ada", "tone": "brisk as the wind"], headers: ["If-Match": "*"])
        #expect(changed.status == 200)
        #expect(try await creator.send("POST", "\(Self.path)/\(id)/publish").data.number("published_version") == 2)

        #expect(try await tone(of: conversation).system.contains("calm as a lake"))
        #expect(try await tone(of: nil).system.contains("brisk as the wind"), "a new conversation")
        let known = try await user.send("GET", route)
        #expect(known.data.number("version") == 1 && known.data.number("newest_version") == 2, "\(known.text)")
        #expect(try await user.send("POST", route).data.number("version") == 2)
        #expect(try await tone(of: conversation).system.contains("brisk as the wind"))
        #expect(try await testBed.testUser().send("POST", route).status == 404)
    }

    @Test("a creator gets figures from 20 users on, and nothing of any of them")
    func statistics() async throws {
        let testBed = try await TestBed.shared()
        let (creator, id) = try await published(["name": "Ada"])
        let users = (0..<20).map { _ in testBed.testUser() }
        func folded(_ turns: Int) async throws {
            try await eventually("the figures of \(turns) turns") {
                let sum = "select coalesce(sum(turns), 0) as n from gateway.persona_days where persona_id = '\(id)'"
                return try await testBed.database.row(sum).number("n") == turns
            }
        }
        for user in users.dropLast() { expectDone(try await user.chat("hello \(sim(["words": 1]))", ["persona_id": id])) }
        try await folded(19)
        let few = try await creator.send("GET", "\(Self.path)/\(id)/stats")
        for name in ["users", "conversations", "turns"] { #expect(few.data.isNull(name), "\(few.text)") }
        expectDone(try await users[19].chat("hello \(sim(["words": 1]))", ["persona_id": id]))
        try await folded(20)
        let enough = try await creator.send("GET", "\(Self.path)/\(id)/stats")
        #expect(enough.data.number("users") == 20 && enough.data.names == ["users", "conversations", "turns"], "\(enough.text)")
        for user in users { #expect(!enough.text.contains(user.id)) }
    }

    @Test("what users, visitors and their copies get of a persona has no text of its prompt, card or link, and no name of its creator")
    func privacy() async throws {
        let testBed = try await TestBed.shared()
        let creator = TestUser(gateway: testBed.gateway, role: "creator")
        let canary = "canary " + marker().filter(\.isLetter)
        #expect(try await creator.send("PATCH", "/api/v1/me", ["display_name": canary]).status == 200)
        let id = try #require(try await creator.send("POST", Self.path, ["name": "Ada"]).data["id"])
        let item = "\(Self.path)/\(id)"
        let card: [String: Any] = [
            "spec": "chara_card_v3", "data": ["name": "Ada", "system_prompt": canary, "tags": [canary], "extensions": ["x": canary]],
        ]
        #expect(try await creator.send("PUT", "\(item)/card", card, headers: ["If-Match": "*"]).status == 200)
        let draft: [String: Any] = [
            "name": "Ada", "description": "Kind.", "tone": canary, "methodology": [canary], "personality": ["humour": canary],
        ]
        #expect(try await creator.send("PUT", item, draft, headers: ["If-Match": "*"]).status == 200)
        // The card travels in the picture that becomes the avatar.
        let picture = try await creator.send("GET", "\(item)/card", headers: ["Accept": "image/png"])
        #expect(String(decoding: picture.body, as: UTF8.self).contains("tEXt"))
        #expect(try await creator.browser.send("PUT", "\(item)/avatar", body: picture.body).status == 200)
        #expect(try await creator.send("POST", "\(item)/publish").status == 200)
        let link = try await creator.send("POST", "\(item)/share-links", ["label": canary])
        let (token, page) = (try #require(link.data["token"]), try #require(link.data["path"]))

        let (user, anyone) = (testBed.testUser(), Browser(port: testBed.gateway.port))
        var answers = [
            try await anyone.send("GET", page), try await anyone.send("GET", page, headers: ["Accept": "application/json"]),
            try await anyone.send("GET", "\(page)/avatar"), try await user.send("POST", "\(Self.path)/redeem", ["share_token": token]),
        ]
        let said = try await user.chat("hello \(sim(["words": 1]))", ["persona_id": id])
        expectDone(said)
        let conversation = try #require(said.first("start")?["conversation_id"])
        for path in [
            "\(Self.path)?limit=100", "\(item)/avatar", "/api/v1/sync", "/api/v1/me/export", "/api/v1/conversations",
            "/api/v1/conversations/\(conversation)/persona-version",
        ] { answers.append(try await user.send("GET", path)) }
        for answer in answers + [said] {
            #expect(answer.status == 200, "\(answer.text)")
            #expect(!answer.text.contains(canary) && !answer.text.contains(creator.id) && !answer.text.contains("tEXt"), "\(answer.text)")
        }
    }
}
