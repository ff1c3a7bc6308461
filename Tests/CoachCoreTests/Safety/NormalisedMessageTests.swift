import Testing

@testable import CoachCore

@Suite("Normalisation")
struct NormalisedMessageTests {
    @Test("words have the sentences around them, as far as the reach")
    func sentences() {
        let words = NormalisedMessage("One two. Three four five. Six seven eight nine. Ten").plain
        #expect(words.sentences(around: 3..<4, reach: 9) == 2..<5)
        #expect(words.sentences(around: 4..<6, reach: 9) == 2..<9)
        #expect(words.sentences(around: 0..<1, reach: 9) == 0..<2)
        #expect(words.sentences(around: 9..<10, reach: 9) == 9..<10)
        #expect(words.sentences(around: 7..<8, reach: 1) == 6..<9)
        #expect(NormalisedMessage("one two three four").plain.sentences(around: 1..<2, reach: 2) == 0..<4)
    }

    private func words(_ sequence: TokenSequence) -> [String] {
        sequence.tokens.map { String(decoding: sequence.bytes[$0.bytes], as: UTF8.self) }
    }
    private func words(_ message: String) -> [String] { words(NormalisedMessage(message).plain) }

    @Test("case, accents, width and typographic marks are folded")
    func folding() {
        #expect(words("Él dijo “MÁS” – don’t, Ｄｏｎ＇ｔ") == ["el", "dijo", "mas", "dont", "dont"])
        #expect(words("ﬁnal straße Œuvre 𝓭𝓲𝓮") == ["final", "strasse", "oeuvre", "die"])
    }

    @Test("of a longer text each sentence is read whole, up to three times the limit", arguments: [8_001, 12_345, 27_000])
    func omittedParts(count: Int) {
        let limit = NormalisedMessage.scalarLimit
        let text = String((0..<count).map { "w\($0) " }.joined().prefix(count))
        let parts = NormalisedMessage.omittedParts(of: text)
        #expect(parts.allSatisfy { (1...limit).contains($0.unicodeScalars.count) } && parts.count <= 3)
        let read = [String(text.prefix(limit / 2)), String(text.suffix(limit / 2))] + parts
        for start in stride(from: 0, to: count - 150, by: 50) {
            let sentence = text.dropFirst(start).prefix(150)
            #expect(read.contains { $0.contains(sentence) }, "\(start)")
        }
        #expect(NormalisedMessage.omittedParts(of: String(repeating: "é", count: limit)).isEmpty)
    }

    @Test("invisible characters and combining marks are removed")
    func invisible() { #expect(words("d\u{200B}i\u{AD}e\u{301} \u{FEFF}now") == ["die", "now"]) }

    @Test("a letter repeated three times or more is shortened to two")
    func runs() { #expect(words("sooooo tiiired 1000") == ["soo", "tiired", "1000"]) }

    @Test("known emoji become tokens that no word equals")
    func emoji() {
        #expect(words("take 💊 now 🌞") == ["take", "\u{E000}pill", "now"])
        #expect(words("\u{E000}pill") == ["pill"])
    }

    @Test("sentences and clauses are counted")
    func boundaries() {
        let tokens = NormalisedMessage("I want to... die. Hard, really! k.m.s").plain.tokens
        #expect(tokens.map(\.sentence) == [0, 0, 0, 0, 1, 1, 2, 2, 2])
        #expect(tokens[3].clause > tokens[2].clause)
        #expect(tokens[5].clause > tokens[4].clause)
    }

    @Test("obfuscated words are restored in a second form, which is nil without any")
    func obfuscation() throws {
        #expect(NormalisedMessage("I want a plan").deobfuscated == nil)
        #expect(NormalisedMessage("10k at 5am, 3x a week, 20 mg").deobfuscated == nil)
        let restored = try #require(NormalisedMessage("k i l l  s3lf $uicide su*cide k.m.s d!e!").deobfuscated)
        #expect(words(restored) == ["kill", "self", "suicide", "sucide", "kms", "die"])
    }

    @Test("the first and last part of a long message are used")
    func cap() {
        let message = "first " + String(repeating: "x ", count: 10_000) + "last"
        let read = words(message)
        #expect(read.first == "first" && read.last == "last")
        #expect(read.count < NormalisedMessage.scalarLimit)
    }
}
