/// A word of another language that is read as what it means in that of the base. The file has its glosses in place of a vector, a twentieth of the
/// bytes.
struct GlossedWord {
    var name: [UInt8]
    /// Of each gloss the numbers of its pieces.
    var glosses: [[Int]]
}

extension TextEncoder.Table {
    /// Appends the rows of words. Each is the mean of the word's glosses, which are the means of their pieces; and as long as the pieces are on
    /// average. Returns false when a word has no gloss, a gloss has no piece, or a piece is no row of this table.
    mutating func append(_ words: [GlossedWord]) -> Bool {
        let lengths = scales.indices.map { row in length(row) }
        for word in words {
            let pieces = Array(word.glosses.joined())
            guard !word.glosses.isEmpty, !word.glosses.contains([]), pieces.allSatisfy(lengths.indices.contains) else { return false }
            var mean = [Float](repeating: 0, count: columns)[...]
            for gloss in word.glosses {
                for piece in gloss { add(row: piece, to: &mean, times: 1 / Float(gloss.count * word.glosses.count)) }
            }
            let wanted = pieces.reduce(0) { $0 + lengths[$1] } / Float(pieces.count)
            append(row: mean, times: wanted / max(mean.reduce(0) { $0 + $1 * $1 }.squareRoot(), .leastNormalMagnitude))
        }
        return true
    }

    private func length(_ row: Int) -> Float {
        let sum = values[(row * columns)..<((row + 1) * columns)].reduce(Int32(0)) { $0 + Int32($1) * Int32($1) }
        return scales[row] * Float(sum).squareRoot()
    }

    private mutating func append(row: ArraySlice<Float>, times factor: Float) {
        let scale = max(row.reduce(0) { max($0, abs($1)) } / 127, .leastNormalMagnitude)
        scales.append(scale * factor)
        values += row.map { Int8(($0 / scale).rounded(.toNearestOrEven)) }
    }
}
