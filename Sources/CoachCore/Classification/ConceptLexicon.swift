/// Classes of words that are one feature for the classifiers: "pills", "tablets" and "pastillas". Training on one word then counts for the others. A word
/// may have several concepts.
struct ConceptLexicon: Sendable {
    /// The concepts of a word, and of all words that begin with it. Concepts are numbered in the order of their names.
    private struct Entry: Sendable {
        var ofWord: [UInt8] = []
        var ofPrefix: [UInt8] = []
    }

    private var entries: [UInt64: Entry] = [:]
    private var longest = 0
    /// A bit for each hash of `entries`, by its lowest bits. Most beginnings of words have no entry, and this is faster than a look into `entries`.
    private var present = [UInt64](repeating: 0, count: 1024)

    static let maximumCount = 255

    /// `concepts` are words by the name of their concept; a word that ends in `*` stands for all words that begin with it.
    init(_ concepts: [String: [String]]) {
        for (number, concept) in concepts.sorted(by: { $0.key < $1.key }).enumerated() {
            for word in concept.value {
                let token = TokenSequence(NormalisedMessage.fold(word)).bytes
                var hash = WordHash()
                for byte in token { hash.add(byte) }
                longest = max(longest, token.count)
                present[Int(hash.value >> 6 & 1023)] |= 1 << (hash.value & 63)
                if word.hasSuffix("*") {
                    entries[hash.value, default: Entry()].ofPrefix.append(UInt8(number))
                } else {
                    entries[hash.value, default: Entry()].ofWord.append(UInt8(number))
                }
            }
        }
    }

    /// Appends the concepts of a folded word, without repetition.
    func append(_ word: ArraySlice<UInt8>, to concepts: inout [UInt8]) {
        let first = concepts.count
        var hash = WordHash()
        for (offset, byte) in word.prefix(longest).enumerated() {
            hash.add(byte)
            guard present[Int(hash.value >> 6 & 1023)] & (1 << (hash.value & 63)) != 0, let entry = entries[hash.value] else { continue }
            for concept in entry.ofPrefix where !concepts[first...].contains(concept) { concepts.append(concept) }
            guard offset + 1 == word.count else { continue }
            for concept in entry.ofWord where !concepts[first...].contains(concept) { concepts.append(concept) }
        }
    }
}
