/// A text as folded words: lower case, without diacritics and punctuation, look-alike letters as Latin ones.
struct FoldedText {
    let words: [String]
    /// The words joined by spaces, with one at each end.
    private let joined: String

    init(_ text: String) { self.init(units: NormalisedMessage.fold(text)) }

    /// - Parameter units: of `NormalisedMessage.fold`.
    init(units: [UInt32]) {
        words = units.split { !TokenSequence.isWord($0) }.map { word in
            String(String.UnicodeScalarView(word.compactMap(Unicode.Scalar.init)))
        }
        joined = " \(words.joined(separator: " ")) "
    }

    /// Whether one of the phrases occurs as whole words. Phrases in scripts without spaces occur anywhere.
    func contains(anyOf phrases: [String]) -> Bool {
        phrases.contains { phrase in
            joined.contains(phrase.utf8.allSatisfy { $0 < 0x80 } ? " \(phrase) " : phrase)
        }
    }
}
