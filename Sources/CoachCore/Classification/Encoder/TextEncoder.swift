import CVectorMath

/// A small transformer (the encoder half, as in BERT) that reads a message and scores it for each of its outputs. Pure, safe to share between
/// threads.
struct TextEncoder: Sendable {
    /// The sizes of the network.
    struct Shape: Sendable, Equatable {
        /// Values of the vector of a piece; a multiple of `VECTOR_COLUMNS`.
        var width: Int
        /// Values between the two halves of a layer's feed-forward part; a multiple of `VECTOR_COLUMNS`.
        var innerWidth: Int
        var heads: Int
        /// Maximum number of pieces in a text. Later pieces are not read.
        var positions: Int
        /// Pieces of a window.
        var windowLength: Int
        /// Pieces from the start of a window to the start of the next.
        var windowStride: Int

        var isPossible: Bool {
            [width, innerWidth, heads, positions, windowLength, windowStride].allSatisfy { $0 > 1 } && width % heads == 0
                && [width, innerWidth].allSatisfy { $0.isMultiple(of: TextEncoder.columnUnit) }
        }

        /// The window with the highest mean of `values`, one for each piece.
        func highestWindow(of values: [Float]) -> (mean: Float, pieces: Range<Int>) {
            Self.highestWindow(of: values[...], length: windowLength, stride: windowStride)
        }

        /// The last window ends with the last value.
        static func highestWindow(of values: ArraySlice<Float>, length: Int, stride step: Int) -> (mean: Float, pieces: Range<Int>) {
            let last = max(values.endIndex - length, values.startIndex)
            var highest = (mean: -Float.infinity, pieces: values.indices)
            for start in Array(stride(from: values.startIndex, to: last, by: step)) + [last] {
                let window = values[start..<min(start + length, values.endIndex)]
                let mean = window.reduce(0, +) / Float(window.count)
                if mean > highest.mean { highest = (mean, window.indices) }
            }
            return highest
        }
    }

    static let columnUnit = Int(VECTOR_COLUMNS)
    private static let innerUnit = Int(VECTOR_INNER)
    private static let rowUnit = Int(VECTOR_ROWS)
    /// The kernels that this processor has, the fastest last.
    static let kernels = (0..<VECTOR_KERNELS.rawValue).map { vector_kernel_t(rawValue: $0) }.filter { vector_has_kernel($0) }
    private static let fastestKernel = kernels.last ?? VECTOR_KERNEL_PORTABLE

    /// A matrix of 8-bit values with one scale for each row.
    struct Table: Sendable {
        var columns: Int
        var scales: [Float]
        var values: [Int8]

        func add(row: Int, to sums: inout ArraySlice<Float>, times factor: Float = 1) {
            let scale = scales[row] * factor
            for column in 0..<columns { sums[sums.startIndex + column] += scale * Float(values[row * columns + column]) }
        }
    }

    /// `y = x * weights + bias`, with 8-bit weights, and `x` rounded to 8 bits row by row.
    struct Projection: Sendable {
        /// In the order of `vector_pack`.
        private var weights: [Int8]
        private var sums: [Int32]
        private var scales: [Float]
        private var bias: [Float]

        /// `values`: signed bytes, inputs times outputs, input after input; a scale and a bias per output. nil when the sizes do not fit each
        /// other, or the units.
        init?(values: ArraySlice<UInt8>, scales: [Float], bias: [Float]) {
            guard scales.count == bias.count, bias.count > 0, bias.count.isMultiple(of: TextEncoder.columnUnit),
                values.count.isMultiple(of: bias.count), (values.count / bias.count).isMultiple(of: TextEncoder.innerUnit)
            else { return nil }
            (self.scales, self.bias) = (scales, bias)
            var sums = [Int32](repeating: 0, count: bias.count)
            // SAFETY: as many packed values as values, all of which are written, and a sum for each column.
            weights = values.withUnsafeBytes { values in
                [Int8](unsafeUninitializedCapacity: values.count) { packed, count in
                    vector_pack(values.baseAddress, packed.baseAddress, &sums, values.count / bias.count, bias.count)
                    count = values.count
                }
            }
            self.sums = sums
        }

        /// `kernel`: one of `kernels`.
        func callAsFunction(_ x: [Float], rows: Int, by kernel: vector_kernel_t = TextEncoder.fastestKernel) -> [Float] {
            let inputs = weights.count / bias.count
            precondition(x.count == rows * inputs && rows.isMultiple(of: TextEncoder.rowUnit))
            var y = [Float](repeating: 0, count: rows * bias.count)
            var scratch = [Float](repeating: 0, count: rows * (inputs / 4 + 1))
            // SAFETY: sizes as checked here and in `init`; `scratch` has a float for four bytes, and one per row; the processor has the kernel.
            vector_multiply(x, weights, sums, scales, bias, &scratch, &y, rows, inputs, bias.count, kernel)
            return y
        }
    }

    struct Normalisation: Sendable {
        var weight: [Float]
        var bias: [Float]

        /// The normalised sum of `x` and `added`.
        func callAsFunction(_ x: inout [Float], adding added: [Float]) {
            // SAFETY: `added` is as long as `x`, whose rows are as long as the weights: a multiple of `VECTOR_COLUMNS`.
            vector_normalise(&x, added, weight, bias, x.count / weight.count, weight.count)
        }
    }

    /// The value that attention adds for the distance of two tokens. MPNet has it, BERT does not.
    struct RelativePositionBias: Sendable {
        /// For each head the values of the distances from `-distance` to `distance - 1`.
        private var values: [Float]
        private var distance: Int

        init(_ values: [Float], distance: Int, heads: Int) {
            precondition(values.count == 2 * distance * heads)
            (self.values, self.distance) = (values, distance)
        }

        /// The largest distance that attention reads in a text of so many tokens.
        static func distance(for tokens: Int) -> Int { vector_attend_distance(tokens) }

        fileprivate func withValues<Result>(tokens: Int, heads: Int, _ body: (UnsafePointer<Float>?, Int) -> Result) -> Result {
            precondition(Self.distance(for: tokens) <= distance && values.count == 2 * distance * heads)
            return values.withUnsafeBufferPointer { body($0.baseAddress, distance) }
        }
    }

    /// Attention: for each token a mixture of all tokens. `qkv` has the queries, keys and values side by side, in `rows(for: tokens)` rows.
    static func attend(_ qkv: [Float], tokens: Int, heads: Int, bias: RelativePositionBias? = nil) -> [Float] {
        let width = qkv.count / 3 / rows(for: tokens)
        precondition(qkv.count == rows(for: tokens) * width * 3 && width.isMultiple(of: heads))
        var attended = [Float](repeating: 0, count: qkv.count / 3)
        var scratch = [Float](repeating: 0, count: vector_attend_scratch(tokens, heads, width))
        // SAFETY: sizes as checked here, and by `RelativePositionBias.withValues`.
        guard let bias else {
            vector_attend(qkv, nil, 0, &scratch, &attended, tokens, heads, width)
            return attended
        }
        bias.withValues(tokens: tokens, heads: heads) { vector_attend(qkv, $0, $1, &scratch, &attended, tokens, heads, width) }
        return attended
    }

    /// The number of rows for this many tokens: a multiple of `VECTOR_ROWS`.
    static func rows(for tokens: Int) -> Int { (tokens + rowUnit - 1) / rowUnit * rowUnit }

    struct Layer: Sendable {
        /// Queries, keys and values side by side.
        var attention: Projection
        var attended: Projection
        var attendedNorm: Normalisation
        var up: Projection
        var down: Projection
        var norm: Normalisation
    }

    let shape: Shape
    let spelling: SpellingCorrection
    let vocabulary: WordPieces
    let words: WordVectors
    let positions: Table
    let positionBias: RelativePositionBias?
    let embeddingNorm: Normalisation
    let layers: [Layer]
    let head: Projection
    /// How many of the head's columns are outputs; the others fill it up to a multiple of `VECTOR_COLUMNS`.
    let outputCount: Int

    /// The result of `encode`.
    struct Encoded {
        /// One for each output.
        var scores: [Float]
        /// How many of its words fit into the positions.
        var words: Int
        /// The words in which `located`, an output, is highest.
        var peak: Range<Int>
    }

    /// Pieces of an `Encoded.peak`: some ten words, less than most sentences.
    private static let peakLength = 12

    /// The first `windowed` outputs have the highest mean of a window, as a mean over many words hides what a few of them say; the others have the
    /// mean of all pieces. `words` are folded as the training's were, and corrected (`spelling`).
    func encode(_ words: some Sequence<ArraySlice<UInt8>>, windowed: Int, located: Int) -> Encoded {
        let (numbers, wordOfPiece) = numbers(words)
        let tokens = numbers.count
        let rows = Self.rows(for: tokens)
        var x = embedded(numbers, rows: rows)
        for layer in layers {
            let attended = Self.attend(layer.attention(x, rows: rows), tokens: tokens, heads: shape.heads, bias: positionBias)
            layer.attendedNorm(&x, adding: layer.attended(attended, rows: rows))
            var inner = layer.up(x, rows: rows)
            vector_gelu(&inner, inner.count)
            layer.norm(&x, adding: layer.down(inner, rows: rows))
        }
        let pieces = head(x, rows: rows)
        let columns = pieces.count / rows
        func values(_ output: Int) -> [Float] { (0..<tokens).map { pieces[$0 * columns + output] } }
        let scores = (0..<outputCount).map { output in
            output < windowed ? shape.highestWindow(of: values(output)).mean : values(output).reduce(0, +) / Float(tokens)
        }
        let own = values(located)
        let window = shape.highestWindow(of: own).pieces
        let peak = Shape.highestWindow(of: own[window], length: Self.peakLength, stride: 1).pieces
        let last = wordOfPiece[tokens - 1]
        return Encoded(scores: scores, words: last + 1, peak: wordOfPiece[peak.lowerBound]..<(wordOfPiece[peak.upperBound - 1] + 1))
    }

    /// The numbers of the pieces, and for each piece the index of its word. The pieces at the ends belong to the words beside them.
    private func numbers(_ words: some Sequence<ArraySlice<UInt8>>) -> (pieces: [Int], words: [Int]) {
        var numbers = [vocabulary.first]
        var wordOfPiece = [0]
        for (index, word) in words.enumerated() {
            let count = numbers.count
            vocabulary.append(word, to: &numbers)
            guard numbers.count < shape.positions || count == 1 else {
                numbers.removeSubrange(count...)
                break
            }
            wordOfPiece += [Int](repeating: index, count: numbers.count - count)
        }
        let last = wordOfPiece[wordOfPiece.count - 1]
        return (numbers.prefix(shape.positions - 1) + [vocabulary.last], wordOfPiece.prefix(shape.positions - 1) + [last])
    }

    private func embedded(_ numbers: [Int], rows: Int) -> [Float] {
        var x = [Float](repeating: 0, count: rows * shape.width)
        for (position, number) in numbers.enumerated() {
            var row = x[(position * shape.width)..<((position + 1) * shape.width)]
            words.add(number, to: &row)
            positions.add(row: position, to: &row)
            x.replaceSubrange(row.indices, with: row)
        }
        embeddingNorm(&x, adding: [Float](repeating: 0, count: x.count))
        return x
    }
}
