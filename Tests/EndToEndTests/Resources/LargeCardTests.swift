import Foundation
import Testing

@Suite("Character cards of the largest size", .paced)
struct LargeCardTests {
    private static let limit = 512 * 1024

    /// A card of exactly so many bytes: `member` of `data` begins with `head`, ends with `tail`, and has as many `unit`s between as fit.
    private func card(_ member: String, _ head: String, _ unit: String, _ tail: String) -> [UInt8] {
        let begin = #"{"spec":"chara_card_v3","spec_version":"3.0","data":{"name":"Nova","\#(member)":\#(head)"#
        let end = "\(tail)}}"
        let units = String(repeating: unit, count: (Self.limit - begin.utf8.count - end.utf8.count) / unit.utf8.count)
        let card = Array((begin + units + end).utf8)
        return card + [UInt8](repeating: UInt8(ascii: " "), count: Self.limit - card.count)
    }

    /// A new persona's card.
    private func path(_ creator: TestUser) async throws -> String {
        "/api/v1/personas/\(try #require(try await creator.send("POST", "/api/v1/personas", ["name": "Ada"]).data["id"]))/card"
    }

    private func put(_ card: [UInt8], _ path: String, _ creator: TestUser) async throws -> Answer {
        try await creator.browser.send("PUT", path, body: card, headers: ["If-Match": "*"])
    }

    @Test(
        "one of 512 KiB is imported and exported without loss, and one byte more is 413",
        arguments: [
            ("system_prompt", "\"", "é", "\""), ("tags", "[1", ",1", "]"), ("scenes", "[[]", ",[]", "]"),
            ("greetings", "[\"\"", ",\"\\u2028\"", "]"), ("extensions", "{\"x\":[1", ",-1e2", "]}"),
        ])
    func largest(member: String, head: String, unit: String, tail: String) async throws {
        let creator = TestUser(gateway: try await TestBed.shared().gateway, role: "creator")
        let path = try await path(creator)
        let card = card(member, head, unit, tail)
        #expect(card.count == Self.limit)
        let imported = try await put(card, path, creator)
        #expect(imported.status == 200 && imported.data["name"] == "Nova", "\(imported.text.prefix(400))")
        let exported = try await creator.send("GET", path)
        let (sent, kept) = (try data(of: card), try data(of: exported.body))
        #expect(exported.status == 200 && kept["name"] as? String == "Nova")
        if member == "extensions" {
            let (sent, kept) = (sent[member] as? [String: Any], kept[member] as? [String: Any])
            #expect(sent?["x"] as? NSArray == kept?["x"] as? NSArray)
        } else {
            #expect(sent[member] as? NSObject == kept[member] as? NSObject)
        }
        let larger = try await put(card + [UInt8(ascii: " ")], path, creator)
        #expect(larger.status == 413 && larger.errorCode == "VAL_3005")
        // The export has the persona's content, too, and a picture with it would be larger still.
        #expect(
            try await creator.send("GET", path, headers: ["Accept": "image/png"]).headers["content-type"]?.hasPrefix("application/json")
                == true)
        let again = try await put(exported.body, path, creator)
        #expect(again.status == (exported.body.count > Self.limit ? 413 : 200))
    }

    @Test("one whose numbers have too many digits, or that is nested too deeply, has a finding")
    func written() async throws {
        let creator = TestUser(gateway: try await TestBed.shared().gateway, role: "creator")
        let path = try await path(creator)
        let digits = try await put(card("tags", "[1", ",1.5e-300", "]"), path, creator)
        #expect(
            digits.status == 422 && digits.errorCode == "VAL_3001" && digits.error.object("details")["field"] == "data",
            "\(digits.text.prefix(400))")
        let deep = try await put(card("tags", "", "[", ""), path, creator)
        #expect(deep.status == 400 && deep.errorCode == "VAL_3001", "\(deep.text.prefix(400))")
        let long = try await put(card("description", "\"", "a", "\""), path, creator)
        #expect(long.status == 422 && long.findingFields == ["data.description"], "\(long.text.prefix(400))")
        #expect(try await creator.send("GET", String(path.dropLast("/card".count))).data["name"] == "Ada")
    }

    private func data(of card: [UInt8]) throws -> [String: Any] {
        let card = try #require(try JSONSerialization.jsonObject(with: Data(card)) as? [String: Any])
        return try #require(card["data"] as? [String: Any])
    }
}
