import CoachCore
import TestSupport
import Testing

@testable import ModelProviders

@Suite("Golden transcripts of all dialects")
struct TranscriptTests {
    static let all =
        Transcript.openAIChat + Transcript.compatible + Transcript.azure + Transcript.responses + Transcript.anthropic + Transcript.gemini
        + Transcript.bedrock

    @Test("read the same however they are cut", arguments: all)
    func cuts(_ transcript: Transcript) {
        let bytes = transcript.bytes
        #expect(transcript.read([bytes[...]]) == transcript.expected)
        #expect(transcript.read(bytes.indices.map { bytes[$0...$0] }) == transcript.expected)
        for cut in bytes.indices { #expect(transcript.read([bytes[..<cut], bytes[cut...]]) == transcript.expected) }
    }

    @Test("that end anywhere never trap, have a verdict, and no text that the whole has not", arguments: all)
    func truncated(_ transcript: Transcript) {
        for end in transcript.bytes.indices {
            let reading = transcript.read([transcript.bytes[..<end]])
            #expect(reading.verdict != nil)
            #expect(transcript.expected.text.utf8.starts(with: reading.text.utf8))
        }
    }

    /// Of the dialects that have an end mark; in the others the end is that of the connection.
    private static let marked = all.filter { transcript in
        let text = String(decoding: transcript.bytes, as: UTF8.self)
        guard case .ended = transcript.expected.verdict else { return false }
        return ["data: [DONE]", "data:[DONE]", #""message_stop""#, #""response.completed""#, #""response.incomplete""#].contains {
            text.contains($0)
        }
    }

    @Test("are not read beyond their end mark", arguments: marked)
    func beyondEnd(_ transcript: Transcript) {
        for more in [transcript.bytes, Array("data: {".utf8), [0xFF, 0x00]] {
            #expect(transcript.read([transcript.bytes + more[...]]) == transcript.expected)
            #expect(transcript.read([transcript.bytes[...], more[...]]) == transcript.expected)
        }
    }

    @Test("with an end mark exist in every dialect that has one")
    func endMarks() {
        let names = Set(Self.marked.map(\.dialect.name))
        #expect(names == ["openai", "openai-compatible", "azure-openai", "openai-responses", "anthropic"])
    }

    @Test("with random bytes in them never trap", arguments: all)
    func damaged(_ transcript: Transcript) {
        var random = SeededGenerator(state: UInt64(transcript.bytes.count))
        for _ in 0..<200 {
            var bytes = transcript.bytes
            for _ in 0..<3 { bytes[Int.random(in: bytes.indices, using: &random)] = UInt8(random.next() % 256) }
            #expect(transcript.read([bytes[...]]).verdict != nil)
        }
    }

    @Test("a megabyte in one line are an error, not memory", arguments: Dialect.all)
    func longLine(_ dialect: Dialect) {
        let line = Array("data: {\"text\":\"".utf8) + Array(repeating: 0x61, count: 1 << 20)
        guard case .broken(.errorFrame, _, _)? = Reading.of([line[...]], dialect).verdict else {
            Issue.record("it was read")
            return
        }
    }

    @Test("exist for every dialect")
    func complete() {
        #expect(Set(Self.all.map(\.dialect)) == Set(Dialect.all))
    }
}
