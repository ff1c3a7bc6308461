/// A word of another language, with its meanings in the language of the vocabulary.
struct GlossedWord: Sendable {
    var name: [UInt8]
    /// The meanings, each as the numbers of its pieces.
    var glosses: [[Int]]
}

/// The vectors of a vocabulary: the rows of a table, and after them the words with glosses, which have no row. A gloss takes a twentieth of a row's bytes in
/// the file. The vector of such a word is made when a text has the word: to make all at the start took half of its time, and some 50 MB.
struct WordVectors: Sendable {
    private let table: TextEncoder.Table
    private let glossed: [GlossedWord]

    /// nil when a word has no gloss, a gloss has no piece, or a piece is no row of the table.
    init?(table: TextEncoder.Table, glossed: [GlossedWord]) {
        let rows = table.scales.indices
        let arePossible = glossed.allSatisfy { word in
            !word.glosses.isEmpty && word.glosses.allSatisfy { !$0.isEmpty && $0.allSatisfy(rows.contains) }
        }
        guard arePossible else { return nil }
        (self.table, self.glossed) = (table, glossed)
    }

    /// Adds the vector of a piece or word. `number` is a row's, or after the last row that of a word with glosses.
    func add(_ number: Int, to sums: inout ArraySlice<Float>) {
        guard number >= table.scales.count else { return table.add(row: number, to: &sums) }
        let word = glossed[number - table.scales.count]
        var mean = [Float](repeating: 0, count: table.columns)[...]
        for gloss in word.glosses {
            for piece in gloss { table.add(row: piece, to: &mean, times: 1 / Float(gloss.count * word.glosses.count)) }
        }
        let pieces = word.glosses.joined()
        let wanted = pieces.reduce(0) { $0 + table.length(of: $1) } / Float(pieces.count)
        let factor = wanted / max(mean.reduce(0) { $0 + $1 * $1 }.squareRoot(), .leastNormalMagnitude)
        // Rounded to 8 bits, as in training.
        let scale = max(mean.reduce(0) { max($0, abs($1)) } / 127, .leastNormalMagnitude)
        for (index, value) in zip(sums.indices, mean) { sums[index] += scale * factor * (value / scale).rounded(.toNearestOrEven) }
    }
}

extension TextEncoder.Table {
    fileprivate func length(of row: Int) -> Float {
        let sum = values[(row * columns)..<((row + 1) * columns)].reduce(Int32(0)) { $0 + Int32($1) * Int32($1) }
        return scales[row] * Float(sum).squareRoot()
    }
}
