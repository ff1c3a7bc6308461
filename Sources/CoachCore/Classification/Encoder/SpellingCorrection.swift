/// Corrects typing errors before words are split into pieces: the pieces of a mistyped word say nothing about its meaning. An unknown word
/// becomes the most frequent known one from which it differs by one letter that is missing, added, replaced, or swapped with its neighbour.
struct SpellingCorrection: Sendable {
    /// The lengths of corrected words, in letters. A shorter word has too many neighbours, a longer one too many candidates.
    private static let lengths = 4...20
    /// The number of words of such lengths from which on the language of a text is recognised.
    private static let fewestWords = 6
    private static let letters = UInt8(ascii: "a")...UInt8(ascii: "z")
    /// Each letter as a text of its own.
    private static let alphabet = letters.map { [$0] }
    /// The rank of a known word that is too rare to replace a mistyped one.
    private static let rare = Int32.max

    /// The rank of each known word, by `WordHash`; 0 is the most frequent word.
    private let ranks: [UInt64: Int32]

    /// The words are folded and in UTF-8. Mistyped words become `frequent` ones, of which the most frequent is first. `rare` words are not corrected.
    init(frequent: some Sequence<[UInt8]>, rare: some Sequence<[UInt8]>) {
        var ranks: [UInt64: Int32] = [:]
        for word in rare { ranks[WordHash(word).value] = SpellingCorrection.rare }
        for (rank, word) in frequent.enumerated() { ranks[WordHash(word).value] = Int32(rank) }
        self.ranks = ranks
    }

    /// The words with the mistyped ones corrected. A text in another language, of which most words are unknown, does not change.
    func callAsFunction(_ words: [ArraySlice<UInt8>]) -> [ArraySlice<UInt8>] {
        let long = words.indices.filter { SpellingCorrection.isLongEnough(words[$0]) }
        let unknown = long.filter { ranks[WordHash(words[$0]).value] == nil }
        guard long.count < SpellingCorrection.fewestWords || 2 * unknown.count <= long.count else { return words }
        var corrected = words
        for index in unknown { corrected[index] = nearest(to: Array(words[index]))?[...] ?? words[index] }
        return corrected
    }

    private static func isLongEnough(_ word: ArraySlice<UInt8>) -> Bool {
        lengths.contains(word.count) && word.allSatisfy(letters.contains)
    }

    /// The most frequent word that differs by one letter; nil when there is none.
    private func nearest(to word: [UInt8]) -> [UInt8]? {
        var lowest = SpellingCorrection.rare
        var nearest: [UInt8]?
        var before = WordHash()
        for at in 0...word.count {
            let after = word[at...]
            func consider(_ letters: [UInt8], _ rest: ArraySlice<UInt8>) {
                var hash = before
                for letter in letters { hash.add(letter) }
                for letter in rest { hash.add(letter) }
                guard let rank = ranks[hash.value], rank < lowest else { return }
                (lowest, nearest) = (rank, word[..<at] + letters + rest)
            }
            for letter in SpellingCorrection.alphabet { consider(letter, after) }
            guard let first = after.first else { break }
            consider([], after.dropFirst())
            for letter in SpellingCorrection.alphabet { consider(letter, after.dropFirst()) }
            if after.count > 1 { consider([word[at + 1], first], after.dropFirst(2)) }
            before.add(first)
        }
        return nearest
    }
}
