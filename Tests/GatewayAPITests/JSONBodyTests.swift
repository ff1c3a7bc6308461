import GatewayAPI
import JSON
import Testing

@Suite("Bodies of requests")
struct JSONBodyTests {
    private static let body = JSONBody(
        "Draft", descriptions: ["label": "for people"], examples: ["label": "a"]
    ) { (body) throws(JSONFinding) in
        (
            label: try body.optional("label", .text(1...80)), uses: try body.required("uses", .integer(1...5)),
            tags: try body.optional("tags", .list(0...2, .text(0...4))) ?? []
        )
    }

    @Test("the schema is made of what the reader declares")
    func schema() throws {
        let draft = try #require(Self.body.schema.references["Draft"])
        let text = String(decoding: JSONWriter.encode(draft.write), as: UTF8.self)
        #expect(
            text
                == #"{"type":"object","properties":{"label":{"type":["string","null"],"minLength":1,"maxLength":80,"pattern":"\\S","#
                + #""description":"for people"},"uses":{"type":"integer","minimum":1,"maximum":5},"#
                + #""tags":{"type":["array","null"],"maxItems":2,"items":{"type":"string","maxLength":4}}},"required":["uses"]}"#)
        #expect(Self.body.schema.sample == ["label": "a", "uses": 1, "tags": ["text"]])
    }

    @Test("reading it reports all findings at once")
    func findings() throws {
        let draft = try Self.body.value(of: Array(#"{"uses":2,"tags":["a"]}"#.utf8))
        #expect(draft.label == nil && draft.uses == 2 && draft.tags == ["a"])
        let error = #expect(throws: JSONFindings.self) { _ = try Self.body.value(of: Array(#"{"label":" ","uses":6}"#.utf8)) }
        #expect(error?.all.map(\.path) == ["label", "uses"])
    }
}
