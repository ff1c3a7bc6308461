/// The file format. Numbers are little-endian, and a byte long where no size is given. In this order:
///
/// | part | content |
/// |---|---|
/// | start | magic, format version |
/// | outputs | their number; for each its name and six floats |
/// | settings | floats for the caller |
/// | previous encoder | the checksum of the file behind which this one was calibrated, 8 bytes; zeros without one |
/// | sizes | width, inner width, heads, positions, length and stride of windows, 2 bytes each; number of layers |
/// | pieces | a list of texts |
/// | frequent words | a list of texts: the words that mistyped ones are corrected to, most frequent first |
/// | rare words | a list of texts: words that are known, but not corrected to |
/// | vectors | the table of pieces |
/// | words with glosses | their number (4 bytes); for each a text, the number of its glosses, and the glosses |
/// | positions | the table of positions |
/// | relative position bias | the largest distance (2 bytes, 0 without a bias), and its floats, head after head |
/// | network | normalisation; for each layer attention, attended, normalisation, up, down, normalisation; head |
/// | end | FNV-1a (64 bits) of all bytes before it, over words of 8 bytes (`vector_word_checksum`) |
///
/// - A text is its length and its UTF-8. A list of texts begins with its number (4 bytes).
/// - A gloss is the number of its pieces, and the number of each piece (4 bytes each).
/// - A table is a float scale for each row, and the signed bytes of the rows.
/// - A projection is a float scale for each output, its signed bytes, input after input, and a float bias for each output.
/// - A normalisation is its weights and its biases.
extension TextEncoder {
    private static let magic = Array("COACHENC".utf8)
    private static let formatVersion = 9
    private static let checksumLength = ModelFileReader.checksumLength

    /// The content of a file.
    struct Content {
        var outputs: [LinearClassifier.Output]
        var settings: [Float]
        /// The checksum of another encoder's file.
        var previous: [UInt8]?
        var checksum: [UInt8]
        var encoder: TextEncoder
    }

    /// Every invalid file is one finding; `file` names it there.
    static func load(file bytes: [UInt8], named file: String, settings count: Int) throws(ConfigurationRejected) -> Content {
        func rejected(_ reason: String) -> ConfigurationRejected {
            ConfigurationRejected(findings: [ConfigurationFinding(file, "", .invalid(reason))])
        }
        var reader = ModelFileReader(bytes: bytes)
        guard reader.take(magic.count).elementsEqual(magic) else { throw rejected("is not an encoder's file") }
        guard reader.number() == formatVersion else { throw rejected("has an unknown format version") }
        guard reader.bytes.count > checksumLength,
            ModelFileReader.wordChecksum(reader.bytes.dropLast(checksumLength)).elementsEqual(bytes.suffix(checksumLength))
        else { throw rejected("does not match its checksum") }
        let outputs = (0..<reader.number()).map { _ in reader.output() }
        let settings = reader.floats(count)
        let previous = Array(reader.take(checksumLength))
        guard let encoder = reader.encoder(outputs: outputs.count), reader.position == reader.bytes.count - checksumLength, reader.isFinite
        else {
            throw rejected("has the wrong length, impossible sizes or numbers")
        }
        return Content(
            outputs: outputs, settings: settings, previous: previous.allSatisfy { $0 == 0 } ? nil : previous,
            checksum: Array(bytes.suffix(checksumLength)), encoder: encoder)
    }
}

extension ModelFileReader {
    /// nil when sizes do not fit each other.
    fileprivate mutating func encoder(outputs: Int) -> TextEncoder? {
        let shape = TextEncoder.Shape(
            width: number(2), innerWidth: number(2), heads: number(2), positions: number(2), windowLength: number(2),
            windowStride: number(2))
        let layerCount = number()
        guard shape.isPossible else { return nil }
        guard var pieces = texts(), let frequent = texts(), let rare = texts() else { return nil }
        let rows = table(rows: pieces.count, shape.width)
        guard rows.values.count == pieces.count * shape.width, let glossed = glossedWords(),
            let words = WordVectors(table: rows, glossed: glossed)
        else { return nil }
        pieces += glossed.map(\.name)
        guard let vocabulary = WordPieces(pieces) else { return nil }
        let spelling = SpellingCorrection(frequent: frequent, rare: [rare, pieces].joined())
        let positions = table(rows: shape.positions, shape.width)
        let (positionBias, hasPossibleBias) = positionBias(shape)
        guard hasPossibleBias else { return nil }
        let embeddingNorm = normalisation(shape.width)
        let layers = (0..<layerCount).compactMap { _ in layer(shape) }
        let unit = TextEncoder.columnUnit
        guard layers.count == layerCount, let head = projection(shape.width, (outputs + unit - 1) / unit * unit) else { return nil }
        return TextEncoder(
            shape: shape, spelling: spelling, vocabulary: vocabulary, words: words, positions: positions, positionBias: positionBias,
            embeddingNorm: embeddingNorm, layers: layers, head: head, outputCount: outputs)
    }

    /// nil when there are more than the rest of the file has room for.
    private mutating func texts() -> [[UInt8]]? {
        let count = number(4)
        guard count < bytes.count - position else { return nil }
        return (0..<count).map { _ in Array(text()) }
    }

    /// nil when there are more than the rest of the file has room for.
    private mutating func glossedWords() -> [GlossedWord]? {
        let count = number(4)
        guard count < bytes.count - position else { return nil }
        return (0..<count).map { _ in
            GlossedWord(name: Array(text()), glosses: (0..<number()).map { _ in (0..<number()).map { _ in number(4) } })
        }
    }

    /// The bias is not possible when it has fewer distances than the positions, or more than the rest of the file has room for.
    private mutating func positionBias(_ shape: TextEncoder.Shape) -> (TextEncoder.RelativePositionBias?, isPossible: Bool) {
        let distance = number(2)
        guard distance > 0 else { return (nil, true) }
        let count = 2 * distance * shape.heads
        guard distance >= TextEncoder.RelativePositionBias.distance(for: shape.positions), 4 * count <= bytes.count - position else {
            return (nil, false)
        }
        return (TextEncoder.RelativePositionBias(floats(count), distance: distance, heads: shape.heads), true)
    }

    private mutating func layer(_ shape: TextEncoder.Shape) -> TextEncoder.Layer? {
        guard let attention = projection(shape.width, 3 * shape.width), let attended = projection(shape.width, shape.width) else {
            return nil
        }
        let attendedNorm = normalisation(shape.width)
        guard let up = projection(shape.width, shape.innerWidth), let down = projection(shape.innerWidth, shape.width) else { return nil }
        return TextEncoder.Layer(
            attention: attention, attended: attended, attendedNorm: attendedNorm, up: up, down: down, norm: normalisation(shape.width))
    }

    private mutating func table(rows: Int, _ columns: Int) -> TextEncoder.Table {
        TextEncoder.Table(columns: columns, scales: floats(rows), values: signedBytes(rows * columns))
    }

    private mutating func projection(_ inputs: Int, _ outputs: Int) -> TextEncoder.Projection? {
        let scales = floats(outputs)
        let values = take(inputs * outputs)
        return values.count == inputs * outputs ? TextEncoder.Projection(values: values, scales: scales, bias: floats(outputs)) : nil
    }

    private mutating func normalisation(_ width: Int) -> TextEncoder.Normalisation {
        TextEncoder.Normalisation(weight: floats(width), bias: floats(width))
    }
}
