import TestSupport
import Testing

@testable import CoachCore

@Suite("Spelling correction")
struct SpellingCorrectionTests {
    private static let letters20 = String(repeating: "ab", count: 10)
    private let spelling = SpellingCorrection(
        frequent: ["want", "myself", "kill", "will", "friend", letters20, letters20 + "b"].map { Array($0.utf8) },
        rare: ["milling", "kiln", "mysels"].map { Array($0.utf8) })

    private func corrected(_ text: String) -> String { Self.corrected(text, by: spelling) }

    private static func corrected(_ text: String, by spelling: SpellingCorrection) -> String {
        let words = text.split(separator: " ").map { Array($0.utf8)[...] }
        return spelling(words).map { String(decoding: $0, as: UTF8.self) }.joined(separator: " ")
    }

    @Test(
        "a letter that is replaced, missing, added or swapped is put right",
        arguments: ["mxself", "myslf", "myselff", "mmyself", "mysefl", "ymself", "yself", "mysel"])
    func errors(word: String) {
        #expect(corrected(word + " want") == "myself want")
    }

    @Test("of several words the most frequent is taken, and none that is rare or further away")
    func choice() {
        #expect(corrected("xill want") == "kill want")
        #expect(corrected("wlll want") == "will want")
        #expect(corrected("kilm want") == "kill want")
        #expect(corrected("kilns want") == "kilns want")
        #expect(corrected("mxxelf want") == "mxxelf want")
    }

    @Test(
        "what is known, short, or has other letters stays",
        arguments: ["will", "mysels", "wnt", "friend0", "fri'end", "wan\u{F1}", "frijnd7"])
    func kept(word: String) {
        #expect(corrected(word + " want") == word + " want")
    }

    @Test("a word of up to 20 letters is corrected")
    func long() {
        let word = Self.letters20
        #expect(corrected("x" + word.dropFirst()) == word)
        #expect(corrected("x" + word.dropFirst() + "b") == "x" + word.dropFirst() + "b")
    }

    @Test("a text of which most words are unknown stays: it is in another language; a short text tells too little of that")
    func otherLanguage() {
        #expect(corrected("mxself zzzzz yyyyy want want want") == "myself zzzzz yyyyy want want want")
        #expect(corrected("mxself zzzzz yyyyy vvvvv want want") == "mxself zzzzz yyyyy vvvvv want want")
        #expect(corrected("mxself to go zzzzz yyyyy vvvvv") == "myself to go zzzzz yyyyy vvvvv")
        #expect(corrected("") == "")
    }

    /// Each has a frequent neighbour: a name for what would be dangerous, or danger that would be hidden.
    @Test("the shipped list knows words that resemble others", arguments: ["spills", "milling", "browning", "hosted", "ghosted", "layer"])
    func shipped(word: String) throws {
        #expect(Self.corrected("i want \(word) myself", by: try Self.shippedSpelling()) == "i want \(word) myself")
    }

    @Test(
        "the shipped list corrects what people mistype",
        arguments: [("mysrlf", "myself"), ("tonigth", "tonight"), ("suicde", "suicide"), ("depresed", "depressed"), ("familia", "familia")])
    func corrects(typed: String, meant: String) throws {
        #expect(Self.corrected("i want \(typed) again", by: try Self.shippedSpelling()) == "i want \(meant) again")
    }

    private static func shippedSpelling() throws -> SpellingCorrection {
        let file = try Checkout.data("domains/encoder.bin")
        return try TextEncoder.load(file: file, named: "encoder.bin", settings: MessageEncoder.Limits.count).encoder.spelling
    }
}
