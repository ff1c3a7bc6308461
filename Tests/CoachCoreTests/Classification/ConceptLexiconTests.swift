import Testing

@testable import CoachCore

@Suite("Concepts")
struct ConceptLexiconTests {
    private let lexicon = ConceptLexicon(["pain": ["hurt*", "dolor"], "pills": ["pills", "pastilla*"], "wound": ["hurt"]])

    private func concepts(_ word: String) -> [UInt8] {
        var found: [UInt8] = []
        lexicon.append(TokenSequence(NormalisedMessage.fold(word)).bytes[...], to: &found)
        return found
    }

    @Test("whole words, beginnings of words, and words of several concepts are found, whatever their case and accents")
    func found() {
        #expect(concepts("pills") == [1])
        #expect(concepts("pillsbury") == [])
        #expect(concepts("PASTILLAS") == [1])
        #expect(concepts("dólor") == [0])
        #expect(concepts("hurts") == [0])
        #expect(concepts("hurt") == [0, 2])
        #expect(concepts("hur") == [])
        #expect(concepts("") == [])
    }

    @Test("words of a concept and their pairs share features, and laughter has none")
    func features() {
        func buckets(_ text: String) -> Set<UInt16> {
            Set(MessageFeatures(TokenSequence(NormalisedMessage.fold(text)), concepts: lexicon, findings: []).buckets)
        }
        let none = ConceptLexicon([:])
        func bare(_ text: String) -> Set<UInt16> {
            Set(MessageFeatures(TokenSequence(NormalisedMessage.fold(text)), concepts: none, findings: []).buckets)
        }
        #expect(buckets("pastillas").subtracting(bare("pastillas")).intersection(buckets("pills")).isEmpty == false)
        #expect(buckets("pain hurts then pills") != bare("pain hurts then pills"))
        for laughter in ["lol", "jajaja", "hahaha"] { #expect(buckets("\(laughter) my pills \(laughter)") == buckets("my pills")) }
    }
}
