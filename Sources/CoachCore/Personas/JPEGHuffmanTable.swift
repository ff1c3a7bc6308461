/// A Huffman table of a JPEG (ITU-T T.81 §C), as a decoder uses it (§F.2.2.3).
struct JPEGHuffmanTable {
    private struct Length {
        /// One more than the greatest code of this length; 0 when there is none.
        var end = 0
        /// Added to a code: the index of its value.
        var offset = 0
    }

    private let lengths: [Length]
    private let values: [UInt8]

    /// - Parameters:
    ///   - counts: how many codes have 1 to 16 bits.
    ///   - values: those of all codes, in their order.
    init(counts: ArraySlice<UInt8>, values: ArraySlice<UInt8>) throws(AvatarImage.Flaw) {
        var (lengths, code, index) = ([Length](), 0, 0)
        for (length, count) in counts.enumerated() {
            // More codes than there are of this length.
            guard code + Int(count) <= 1 << (length + 1) else { throw .damaged }
            lengths.append(Length(end: count == 0 ? 0 : code + Int(count), offset: index - code))
            index += Int(count)
            code = (code + Int(count)) << 1
        }
        self.lengths = lengths
        self.values = Array(values)
    }

    func value(_ bits: inout JPEGBits) throws(AvatarImage.Flaw) -> Int {
        var code = 0
        for length in lengths {
            code = code << 1 | (try bits.take(1))
            if code < length.end { return Int(values[length.offset + code]) }
        }
        throw .damaged
    }
}

/// A Huffman table's class (0: DC, 1: AC) and number.
struct JPEGTableID: Hashable {
    let kind: Int
    let number: Int
}
