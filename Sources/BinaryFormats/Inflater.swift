/// Why a stream of blocks cannot be decompressed.
struct DeflateError: Error {}

/// Decompresses blocks up to the last one. The section numbers are those of RFC 1951.
struct Inflater {
    private(set) var bits: BitReader
    /// The output, of the expected length. The part that is not written yet is zero.
    private(set) var output: [UInt8]
    private(set) var written = 0

    init(_ bits: BitReader, count: Int) {
        self.bits = bits
        output = [UInt8](repeating: 0, count: count)
    }

    mutating func run() throws(DeflateError) {
        var isLast = false
        while !isLast {
            isLast = try bits.read(1) == 1
            switch try bits.read(2) {
            case 0: try stored()
            case 1: try compressed(literals: Self.fixedLiterals, distances: Self.fixedDistances)
            case 2: try dynamic()
            default: throw DeflateError()
            }
        }
    }

    /// §3.2.4.
    private mutating func stored() throws(DeflateError) {
        let data = try bits.takeStored()
        guard data.count <= output.count - written else { throw DeflateError() }
        output.replaceSubrange(written..<written + data.count, with: data)
        written += data.count
    }

    /// §3.2.5.
    private mutating func compressed(literals: HuffmanCode, distances: HuffmanCode) throws(DeflateError) {
        while true {
            let symbol = try literals.symbol(&bits)
            switch symbol {
            case ..<256:
                guard written < output.count else { throw DeflateError() }
                output[written] = UInt8(symbol)
                written += 1
            case 256: return
            case ..<286:
                let length = Self.lengths[symbol - 257] + (try bits.read(Self.lengthBits[symbol - 257]))
                let code = try distances.symbol(&bits)
                guard code < 30 else { throw DeflateError() }
                try copy(length: length, distance: Self.distances[code] + (try bits.read(Self.distanceBits[code])))
            default: throw DeflateError()
            }
        }
    }

    private mutating func copy(length: Int, distance: Int) throws(DeflateError) {
        guard distance <= written, length <= output.count - written else { throw DeflateError() }
        // Byte by byte: the source may overlap what is written.
        for index in written..<written + length { output[index] = output[index - distance] }
        written += length
    }

    /// §3.2.7.
    private mutating func dynamic() throws(DeflateError) {
        let literals = try bits.read(5) + 257
        let distances = try bits.read(5) + 1
        let codeLengths = try bits.read(4) + 4
        guard literals <= 286, distances <= 30 else { throw DeflateError() }
        var ofLengths = [Int](repeating: 0, count: 19)
        for index in 0..<codeLengths { ofLengths[Self.codeLengthOrder[index]] = try bits.read(3) }
        let code = try HuffmanCode(ofLengths[...])
        var lengths: [Int] = []
        while lengths.count < literals + distances {
            switch try code.symbol(&bits) {
            case 16:
                guard let last = lengths.last else { throw DeflateError() }
                lengths += repeatElement(last, count: try bits.read(2) + 3)
            case 17: lengths += repeatElement(0, count: try bits.read(3) + 3)
            case 18: lengths += repeatElement(0, count: try bits.read(7) + 11)
            case let length: lengths.append(length)
            }
        }
        // A repetition may cross to the distances, but not past them; a block needs the symbol of its end.
        guard lengths.count == literals + distances, lengths[256] > 0 else { throw DeflateError() }
        try compressed(
            literals: HuffmanCode(lengths[..<literals], allowsSingle: true),
            distances: HuffmanCode(lengths[literals...], allowsSingle: true))
    }

    private static let codeLengthOrder = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15]
    private static let lengthBits = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0]
    private static let lengths = [
        3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258,
    ]
    private static let distanceBits = (0..<30).map { max(0, $0 / 2 - 1) }
    private static let distances = (0..<30).map { $0 < 4 ? $0 + 1 : (2 + $0 & 1) << ($0 / 2 - 1) + 1 }

    /// §3.2.6.
    private static let fixedLiterals = HuffmanCode(complete: (0..<288).map { $0 < 144 ? 8 : $0 < 256 ? 9 : $0 < 280 ? 7 : 8 })
    private static let fixedDistances = HuffmanCode(complete: [Int](repeating: 5, count: 32))
}
