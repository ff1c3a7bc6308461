/// A text as folded words: lower case, without diacritics and punctuation, look-alike letters as Latin ones.
struct FoldedText {
    let words: [String]
    /// Indices of the words that begin the text, or have clause punctuation before them.
    let clauseStarts: Set<Int>
    /// As `clauseStarts`, after the punctuation of sentences alone. A line break ends none, because lines are wrapped.
    let sentenceStarts: Set<Int>
    /// The words joined by spaces, with one at each end.
    private let joined: String

    init(_ text: String) { self.init(units: NormalisedMessage.fold(text)) }

    /// - Parameter units: of `NormalisedMessage.fold`.
    init(units: [UInt32]) {
        words = units.split { !TokenSequence.isWord($0) }.map { word in
            String(String.UnicodeScalarView(word.compactMap(Unicode.Scalar.init)))
        }
        clauseStarts = Self.starts(units, after: Self.clausePunctuation)
        sentenceStarts = Self.starts(units, after: Self.sentencePunctuation)
        joined = " \(words.joined(separator: " ")) "
    }

    /// Whether one of the phrases occurs as whole words. Phrases in scripts without spaces occur anywhere.
    func contains(anyOf phrases: [String]) -> Bool {
        phrases.contains { phrase in
            joined.contains(phrase.utf8.allSatisfy { $0 < 0x80 } ? " \(phrase) " : phrase)
        }
    }

    /// The indices of the words at which a phrase begins.
    func starts(of phrase: String) -> [Int] {
        guard contains(anyOf: [phrase]) else { return [] }
        let phrase = phrase.split(separator: " ")
        return words.indices.filter { words[$0...].starts(with: phrase) { $0 == $1 } }
    }

    /// Whether a clause ends with this word.
    func endsClause(_ index: Int) -> Bool { index + 1 == words.count || clauseStarts.contains(index + 1) }

    private static let sentencePunctuation = Set(".;:!?".unicodeScalars.map(\.value)).union([ScalarFolding.ellipsis])
    private static let clausePunctuation = Set(".,;:!?()|\n".unicodeScalars.map(\.value)).union([ScalarFolding.ellipsis])

    private static func starts(_ units: [UInt32], after punctuation: Set<UInt32>) -> Set<Int> {
        var starts: Set<Int> = []
        var word = 0
        var isInWord = false
        var isStart = true
        for unit in units {
            if TokenSequence.isWord(unit) {
                if !isInWord {
                    if isStart { starts.insert(word) }
                    word += 1
                }
                (isInWord, isStart) = (true, false)
            } else {
                isInWord = false
                isStart = isStart || punctuation.contains(unit)
            }
        }
        return starts
    }
}
