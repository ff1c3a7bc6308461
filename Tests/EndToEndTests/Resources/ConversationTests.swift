import Foundation
import Testing

@Suite("Conversations over REST", .paced)
struct ConversationTests {
    private static let path = "/api/v1/conversations"

    @Test("a creation repeated with its key, also on another instance, creates one; with another body it is rejected")
    func idempotent() async throws {
        let testBed = try await TestBed.shared()
        let user = testBed.testUser()
        let another = try await testBed.anotherGateway()
        defer { withExtendedLifetime(another) {} }
        let elsewhere = TestUser(gateway: another, id: user.id)
        let key = ["Idempotency-Key": "key 1"]
        let answers = try await withThrowingTaskGroup(of: Answer.self) { group in
            for number in 0..<6 {
                group.addTask {
                    try await (number.isMultiple(of: 2) ? user : elsewhere).send("POST", Self.path, ["title": "Once"], headers: key)
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(answers.allSatisfy { $0.status == 201 || $0.status == 429 }, "\(answers.map(\.text))")
        let last = try await elsewhere.send("POST", Self.path, ["title": "Once"], headers: key)
        #expect(last.status == 201 && last.data["title"] == "Once")
        #expect(Set(answers.filter { $0.status == 201 }.map { $0.data["id"] }) == [last.data["id"]])
        #expect(try await user.send("GET", Self.path).list.count == 1)
        let other = try await user.send("POST", Self.path, ["title": "Twice"], headers: key)
        #expect(other.status == 422 && other.errorCode == "BIZ_2009")
        #expect(try await user.send("POST", Self.path, nil).data.flag("ephemeral") == false)
        #expect(try await user.send("POST", Self.path, ["ephemeral": true]).data.flag("ephemeral") == true)
    }

    @Test("an id of the client's answers the same conversation again, without a key, too, until it is deleted; others may have the same")
    func chosenID() async throws {
        let testBed = try await TestBed.shared()
        let (user, other, id) = (testBed.testUser(), testBed.testUser(), UUID().uuidString.lowercased())
        let made = try await user.send("POST", Self.path, ["id": id, "title": "Offline"])
        #expect(made.status == 201 && made.data["id"] == id, "\(made.text)")
        let again = try await user.send("POST", Self.path, ["id": id, "title": "Other"])
        #expect(again.status == 201 && again.data["title"] == "Offline" && again.headers["etag"] == made.headers["etag"])
        expectDone(try await user.chat("Hello \(sim(["words": 1]))", ["conversation_id": id]))
        #expect(try await other.send("GET", "\(Self.path)/\(id)").status == 404)
        let theirs = try await other.send("POST", Self.path, ["id": id])
        #expect(theirs.status == 201 && theirs.data["id"] == id && theirs.data.isNull("title"))
        #expect(try await other.send("GET", "\(Self.path)/\(id)/messages").list.isEmpty)
        #expect(try await other.send("DELETE", "\(Self.path)/\(id)").status == 200)
        let deleted = try await other.send("POST", Self.path, ["id": id])
        #expect(deleted.status == 422 && deleted.errorCode == "VAL_3001" && deleted.error.object("details")["field"] == "id")
        #expect(try await user.send("GET", "\(Self.path)/\(id)/messages").list.count == 2)
    }

    @Test("a change with If-Match needs the current version; the error for a stale one has the current version")
    func versions() async throws {
        let user = try await TestBed.shared().testUser()
        let draft: [String: Any] = ["title": "One", "domain": "fitness"]
        let made = try await user.send("POST", Self.path, draft, headers: ["Idempotency-Key": "one"])
        let id = try #require(made.data["id"])
        let read = try await user.send("GET", "\(Self.path)/\(id)")
        let tag = try #require(read.headers["etag"])
        #expect(made.status == 201 && made.headers["etag"] == tag)
        #expect(try await user.send("GET", "\(Self.path)/\(id)", headers: ["If-None-Match": tag]).status == 304)
        let changed = try await user.send("PATCH", "\(Self.path)/\(id)", ["title": "Two"], headers: ["If-Match": tag])
        #expect(changed.status == 200 && changed.data["title"] == "Two" && changed.data["domain"] == "fitness")
        let repeated = try await user.send("POST", Self.path, draft, headers: ["Idempotency-Key": "one"])
        #expect(repeated.data["title"] == "One" && repeated.headers["etag"] == tag, "the same answer")
        let stale = try await user.send("PATCH", "\(Self.path)/\(id)", ["title": "Three"], headers: ["If-Match": tag])
        #expect(stale.status == 412 && stale.errorCode == "BIZ_2008" && stale.error["action"] == "reload")
        #expect(stale.headers["etag"] == changed.headers["etag"])
        #expect(stale.error.object("details").object("current")["title"] == "Two")
        let cleared = try await user.send("PATCH", "\(Self.path)/\(id)", ["domain": NSNull()], headers: ["If-Match": "*"])
        #expect(cleared.status == 200 && cleared.data.isNull("domain") && cleared.data["title"] == "Two")
        let kept = try await user.send("DELETE", "\(Self.path)/\(id)", headers: ["If-Match": tag])
        #expect(kept.status == 412 && kept.errorCode == "BIZ_2008" && kept.headers["etag"] == cleared.headers["etag"])
        let now = ["If-Match": try #require(cleared.headers["etag"])]
        #expect(try await user.send("DELETE", "\(Self.path)/\(id)", headers: now).status == 200)
        #expect(try await user.send("DELETE", "\(Self.path)/\(id)", headers: now).status == 404)
    }

    @Test("a cursor, and a token of changes, are opaque: edited, or of another list, they are rejected")
    func opaque() async throws {
        let user = try await TestBed.shared().testUser()
        for number in 1...3 { #expect(try await user.send("POST", Self.path, ["title": "\(number)"]).status == 201) }
        let page = try await user.send("GET", "\(Self.path)?limit=1").json.object("pagination")
        let cursor = try #require(page["next_cursor"])
        let next = try await user.send("GET", "\(Self.path)?limit=2&cursor=\(cursor)")
        #expect(next.list.count == 2 && next.json.object("pagination").flag("has_next") == false)
        let token = try #require(page["next_updated_since"])
        let sync = try #require(try await user.send("GET", "/api/v1/sync").data["next"])
        func edited(_ text: String) -> [String] {
            func other(_ character: Character?) -> String { character == "A" ? "B" : "A" }
            return [text + "A", String(text.dropLast()), text.dropLast() + other(text.last), other(text.first) + text.dropFirst()]
        }
        let invalid =
            edited(cursor).map { "\(Self.path)?cursor=\($0)" } + edited(token).map { "\(Self.path)?updated_since=\($0)" }
            + edited(sync).map { "/api/v1/sync?since=\($0)" } + [
                "/api/v1/messages/search?q=x&cursor=\(cursor)", "\(Self.path)?source=openai&cursor=\(cursor)",
                "\(Self.path)?cursor=\(token)",
                "\(Self.path)?updated_since=\(cursor)", "\(Self.path)?updated_since=2026-01-01T00:00",
            ]
        for path in invalid {
            let answer = try await user.send("GET", path)
            #expect(answer.status == 422 && answer.errorCode == "VAL_3001", "\(path): \(answer.text)")
        }
    }

    @Test("messages come in both orders; a cursor of the other order, and changes newest first, are rejected")
    func messageOrder() async throws {
        let user = try await TestBed.shared().testUser()
        let answer = try await user.chat("Hello \(sim(["words": 2]))")
        let list = "\(Self.path)/\(try #require(answer.first("start")?["conversation_id"]))/messages"
        #expect(try await user.send("GET", list).list.map { $0["role"] } == ["user", "assistant"])
        let first = try await user.send("GET", "\(list)?order=desc&limit=1")
        #expect(first.list.map { $0["role"] } == ["assistant"])
        let cursor = try #require(first.json.object("pagination")["next_cursor"])
        let second = try await user.send("GET", "\(list)?order=desc&limit=1&cursor=\(cursor)")
        #expect(second.list.map { $0["role"] } == ["user"] && second.json.object("pagination").flag("has_next") == false)
        for (query, field) in [
            ("cursor=\(cursor)", "cursor"), ("order=asc&cursor=\(cursor)", "cursor"), ("order=up", "order"),
            ("order=desc&updated_since=2020-01-01T00:00:00Z", "order"),
        ] {
            let refused = try await user.send("GET", "\(list)?\(query)")
            #expect(refused.status == 422 && refused.errorCode == "VAL_3001", "\(query): \(refused.text)")
            #expect(refused.error.object("details")["field"] == field, "\(query)")
        }
    }

    @Test("changes from a time on are listed as those from a position, which the list names for the next request")
    func updatedSinceTime() async throws {
        let user = try await TestBed.shared().testUser()
        for number in 1...3 { #expect(try await user.send("POST", Self.path, ["title": "\(number)"]).status == 201) }
        let all = try await user.send("GET", "\(Self.path)?limit=2&updated_since=2020-01-01T00:00:00Z")
        #expect(all.list.count == 2)
        let (part, whole) = (all.json.object("pagination"), try await user.send("GET", Self.path).json.object("pagination"))
        #expect(part.isNull("next_cursor") && part.flag("has_next") == false && part.flag("has_more") == true)
        #expect(whole.flag("has_next") == false && whole.flag("has_more") == false)
        let first = try await user.send("GET", "\(Self.path)?limit=2").json.object("pagination")
        #expect(first["next_cursor"] != nil && first.flag("has_next") == true && first.flag("has_more") == false)
        let rest = try #require(all.json.object("pagination")["next_updated_since"])
        #expect(try await user.send("GET", "\(Self.path)?updated_since=\(rest)").list.count == 1)
        let last = try #require(all.list.last)
        let time = try #require(last["updated_at"])
        let since = try await user.send("GET", "\(Self.path)?updated_since=\(time)")
        #expect(since.list.contains { $0["id"] == last["id"] } && since.list.count < 4)
        let none = try await user.send("GET", "\(Self.path)?updated_since=2999-01-01T01:00:00%2B01:00")
        #expect(none.status == 200 && none.list.isEmpty)
        let now = try #require(none.json.object("pagination")["next_updated_since"])
        let id = try #require(last["id"])
        #expect(try await user.send("PATCH", "\(Self.path)/\(id)", ["title": "new"]).status == 200)
        #expect(try await user.send("GET", "\(Self.path)?updated_since=\(now)").list.map { $0["title"] } == ["new"])
        let turn = try await user.send("GET", "\(Self.path)/\(id)/messages?updated_since=2020-01-01T00:00:00Z")
        #expect(turn.status == 200 && turn.list.isEmpty)
    }

    @Test("a title is made from the first message, and one that the user has removed is not made again")
    func titles() async throws {
        let user = try await TestBed.shared().testUser()
        let id = try #require(try await user.send("POST", Self.path, [:]).data["id"])
        let item = "\(Self.path)/\(id)"
        func titled(after message: String) async throws -> JSONObject {
            expectDone(try await user.chat("\(message) \(sim(["words": 1]))", ["conversation_id": id]))
            return try await user.send("GET", item).data
        }
        #expect(try await titled(after: "I want a new job")["title"]?.hasPrefix("I want a new job") == true)
        #expect(try await user.send("PATCH", item, ["title": NSNull()]).data.isNull("title"))
        #expect(try await titled(after: "Another one").isNull("title"))
        #expect(try await user.send("PATCH", item, ["title": ""]).data["title"] == "")
        #expect(try await titled(after: "And another")["title"] == "")
        #expect(try await user.send("PATCH", item, ["title": "My own"]).status == 200)
        #expect(try await titled(after: "The last")["title"] == "My own")
    }

    @Test("a body with several errors has a finding for each")
    func findings() async throws {
        let user = try await TestBed.shared().testUser()
        let answer = try await user.send("POST", Self.path, ["title": 1, "domain": [], "persona_id": "x"])
        #expect(answer.status == 422 && answer.errorCode == "VAL_3001")
        #expect(answer.error.object("details")["field"] == "title" && answer.findingFields == ["title", "domain", "persona_id"])
        let domain = try await user.send("POST", Self.path, ["domain": "astrology"])
        #expect(domain.status == 422 && domain.errorCode == "VAL_3003")
    }
}
