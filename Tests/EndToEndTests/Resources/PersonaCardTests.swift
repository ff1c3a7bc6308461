import Foundation
import Testing

@Suite("Character cards over REST", .paced)
struct PersonaCardTests: PersonaBench {
    @Test("a character card is imported and exported; its system prompt is only kept in the card")
    func cards() async throws {
        let creator = try await creator()
        let item = "\(Self.path)/\(try await made(by: creator))"
        let data: [String: Any] = [
            "name": "Nova", "description": "Kind.", "creator_notes": "For changes.", "system_prompt": Self.secret, "tags": ["x"],
        ]
        let card: [String: Any] = ["spec": "chara_card_v2", "spec_version": "2.0", "data": data]
        #expect(try await creator.send("PUT", "\(item)/card", card).status == 428)
        let imported = try await creator.send("PUT", "\(item)/card", card, headers: ["If-Match": "*"])
        #expect(
            imported.status == 200 && imported.data["name"] == "Nova" && imported.data["description"] == "For changes.", "\(imported.text)")
        #expect(!imported.text.contains(Self.secret))
        let exported = try await creator.send("GET", "\(item)/card").json
        #expect(exported["spec"] == "chara_card_v2" && exported.object("data")["system_prompt"] == Self.secret)
        #expect(exported.object("data").texts("tags") == ["x"])
        let refused = try await creator.send("PUT", "\(item)/card", ["spec": "x", "data": ["name": ""]], headers: ["If-Match": "*"])
        #expect(refused.status == 422 && refused.findingFields == ["spec", "data.name"])
    }

    @Test("a turn with an imported card's persona has its texts, with the placeholders filled, and never its instructions")
    func cardInTurn() async throws {
        let testBed = try await TestBed.shared()
        let creator = try await creator()
        let id = try await made(by: creator)
        // Letters alone: many digits in a row would be taken for a telephone number.
        let obey = "obey " + marker().filter(\.isLetter)
        let data: [String: Any] = [
            "name": "Nova", "description": "{{char}} listens to {{user}}.", "scenario": "{{char}} asks first.", "first_mes": "\(obey) 1",
            "system_prompt": "\(obey) 2", "post_history_instructions": "\(obey) 3", "mes_example": "\(obey) 4",
            "creator_notes": "\(obey) 5",
            "character_book": ["entries": [["keys": ["hello"], "content": "\(obey) 6", "constant": true, "enabled": true]]],
        ]
        let card: [String: Any] = ["spec": "chara_card_v3", "spec_version": "3.0", "data": data]
        let imported = try await creator.send("PUT", "\(Self.path)/\(id)/card", card, headers: ["If-Match": "*"])
        #expect(imported.status == 200, "\(imported.text)")
        #expect(try await creator.send("POST", "\(Self.path)/\(id)/publish").status == 200)
        let word = marker()
        let answer = try await creator.chat("hello \(word) \(sim(["words": 2]))", ["persona_id": id])
        expectDone(answer)
        #expect(answer.first("start")?["persona_id"] == id)
        let asked = try #require(try await testBed.simulator.requests(containing: word).last)
        #expect(asked.system.contains("Nova listens to the user.") && asked.system.contains("Nova asks first."))
        #expect(!asked.system.contains(obey) && asked.messages.allSatisfy { !$0.content.contains(obey) })
    }

    @Test("a card travels inside a picture, which becomes the avatar; a page with a picture names it")
    func cardPictures() async throws {
        let gateway = try await TestBed.shared().anotherGateway(["COACH_PUBLIC_ORIGIN": "https://coach.example"])
        let creator = TestUser(gateway: gateway, role: "creator")
        let (first, second) = ("\(Self.path)/\(try await made(by: creator))", "\(Self.path)/\(try await made(by: creator))")
        let card: [String: Any] = ["spec": "chara_card_v3", "spec_version": "3.0", "data": ["name": "Nova", "system_prompt": Self.secret]]
        #expect(try await creator.send("PUT", "\(first)/card", card, headers: ["If-Match": "*"]).status == 200)
        let picture = try await creator.send("GET", "\(first)/card", headers: ["Accept": "image/png"])
        #expect(picture.status == 200 && picture.headers["content-type"] == "image/png")
        let text = try await creator.send("GET", "\(first)/card", headers: ["Accept": "application/json, image/png;q=0"])
        #expect(text.headers["content-type"]?.hasPrefix("application/json") == true)
        let imported = try await creator.browser.send("PUT", "\(second)/card", body: picture.body, headers: ["If-Match": "*"])
        #expect(imported.status == 200 && imported.data["name"] == "Nova", "\(imported.text)")
        #expect(try await creator.send("GET", "\(second)/card").json.object("data")["system_prompt"] == Self.secret)
        #expect(try await creator.send("GET", "\(second)/avatar").headers["content-type"] == "image/png")
        let bare = try await creator.send("GET", "\(second)/avatar").body
        let without = try await creator.browser.send("PUT", "\(first)/card", body: bare, headers: ["If-Match": "*"])
        #expect(without.status == 422 && without.error.object("details")["field"] == "data")

        #expect(try await creator.send("POST", "\(second)/publish").status == 200)
        let third = "\(Self.path)/\(try await made(by: creator))"
        #expect(try await creator.browser.send("PUT", "\(third)/avatar", body: AvatarFiles.pixel).status == 200)
        let other = try await creator.send("GET", "\(third)/card", headers: ["Accept": "image/png"]).body
        let draft = try await creator.browser.send("PUT", "\(second)/card", body: other, headers: ["If-Match": "*"])
        #expect(draft.status == 200 && draft.data["name"] == "Ada", "\(draft.text)")
        #expect(try await creator.send("GET", "\(second)/avatar").body == bare, "users would see a picture that is not published")
        let path = try #require(try await creator.send("POST", "\(second)/share-links").data["path"])
        let page = try await Browser(port: gateway.port).send("GET", path)
        #expect(page.text.contains("property=\"og:image\" content=\"https://coach.example\(path)/avatar\""))
    }
}
