import Foundation
import Testing

@Suite("Text of the stream", .paced)
struct WireTextTests {
    @Test("is complete JSON on every line, also for readers that split at every Unicode line end")
    func lineEnds() async throws {
        let testBed = try await TestBed.shared()
        let testUser = testBed.testUser()
        let said = "a\u{2028}b\u{2029}c\u{85}d\u{0B}e\u{0C}f\r\ng\n\nh\u{1C}i\u{1E}j"
        let answer = try await testUser.chat("Hello \(sim(["tokens": [said, "\n\n", "data: x"]]))")
        #expect(answer.content == said + "\n\ndata: x")
        let ends: Set<Unicode.Scalar> = ["\n", "\r", "\u{0B}", "\u{0C}", "\u{1C}", "\u{1D}", "\u{1E}", "\u{85}", "\u{2028}", "\u{2029}"]
        for line in answer.text.unicodeScalars.split(whereSeparator: ends.contains).map({ String($0) }) {
            if line.hasPrefix("id: ") {
                #expect(Int(line.dropFirst(4)) != nil, "\(line)")
            } else {
                #expect(line.hasPrefix("data: ") && !JSONObject(String(line.dropFirst(6))).names.isEmpty, "\(line)")
            }
        }
        #expect(try await testBed.database.messages(of: testUser.id, role: "assistant").first?["content"] == answer.content)
    }

    @Test(
        "keeps emoji with joiners, combining marks and right-to-left letters, however the provider splits its bytes",
        arguments: [1, 2, 3, 7])
    func multiByte(chunkBytes: Int) async throws {
        let testBed = try await TestBed.shared()
        let testUser = testBed.testUser()
        let answer = try await testUser.chat("Hello \(sim(["unicode": true, "chunk_bytes": chunkBytes]))")
        #expect(answer.eventTypes == ["start", "token", "usage", "done"])
        let scalars = answer.content.unicodeScalars
        #expect(scalars.contains("\u{200D}") && scalars.contains("\u{2028}") && !scalars.contains("\u{FFFD}"))
        #expect(try await testBed.database.messages(of: testUser.id, role: "assistant").first?["content"] == answer.content)
    }

    @Test("has no U+0000 of a model, and cursors do not count it")
    func nul() async throws {
        let testBed = try await TestBed.shared()
        let testUser = testBed.testUser()
        let answer = try await testUser.chat("Hello \(sim(["tokens": ["a\u{0}b", "\u{0}", "c"]]))")
        #expect(answer.content == "abc" && answer.first("done")?.id == "3")
        #expect(try await testBed.database.messages(of: testUser.id, role: "assistant").first?["content"] == "abc")
    }

    @Test("of the user's message reaches the database and the model unchanged")
    func messageUnchanged() async throws {
        let testBed = try await TestBed.shared()
        let testUser = testBed.testUser()
        let word = marker()
        let message = "\(word) Grüße 👩‍👩‍👧 \u{2028} \\ \" </user> שלום \(sim(["words": 2]))"
        let answer = try await testUser.chat(message)
        #expect(answer.status == 200)
        #expect(try await testBed.database.messages(of: testUser.id, role: "user").first?["content"] == message)
        let request = try #require(try await testBed.simulator.requests(containing: word).first)
        #expect(request.messages.last?.role == "user" && request.messages.last?.content == message)
    }
}
