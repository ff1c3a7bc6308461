/// A scan of a JPEG: its header (ITU-T T.81 §B.2.3), and the entropy-coded data, which are decoded without making pixels, to find their end: what
/// follows the last block, in an interval or in the scan, is no part of the picture.
struct JPEGScan {
    struct Part {
        /// The index of the frame's component.
        let component: Int
        /// The numbers of its Huffman tables.
        let (dcTable, acTable): (Int, Int)
    }

    let parts: [Part]
    let band: JPEGSpectralBand
    private let isProgressive: Bool

    init(_ data: [UInt8], _ frame: JPEGFrame) throws(AvatarImage.Flaw) {
        guard let count = data.first.map({ Int($0) }), (1...4).contains(count), data.count == 4 + 2 * count else { throw .damaged }
        var parts: [Part] = []
        for number in 0..<count {
            let (id, tables) = (data[1 + 2 * number], data[2 + 2 * number])
            guard let component = frame.components.firstIndex(where: { $0.id == id }), tables >> 4 < 4, tables & 0x0F < 4,
                !parts.contains(where: { $0.component == component })
            else { throw .damaged }
            parts.append(Part(component: component, dcTable: Int(tables >> 4), acTable: Int(tables & 0x0F)))
        }
        let blocks = parts.reduce(0) {
            $0 + frame.components[$1.component].horizontalSampling * frame.components[$1.component].verticalSampling
        }
        isProgressive = frame.isProgressive
        band = try JPEGSpectralBand(data.suffix(3), isProgressive: isProgressive)
        // A scan of AC coefficients alone has one component (§G.1.1.1.1).
        guard count == 1 || blocks <= 10 && band.first == 0 else { throw .damaged }
        self.parts = parts
    }

    /// The Huffman tables that the scan needs.
    var tables: [JPEGTableID] {
        parts.flatMap { part in
            if !isProgressive { return [JPEGTableID(kind: 0, number: part.dcTable), JPEGTableID(kind: 1, number: part.acTable)] }
            if band.first > 0 { return [JPEGTableID(kind: 1, number: part.acTable)] }
            return band.refines ? [] : [JPEGTableID(kind: 0, number: part.dcTable)]
        }
    }

    /// Decodes the data and moves the cursor to their end.
    /// - Parameters:
    ///   - nonzero: of each block of each component, the AC coefficients that an earlier scan made nonzero, as a set of bits.
    ///   - interval: how many MCUs are between restart markers; 0: there are none.
    /// - Returns: the data, each interval up to its last block.
    func read(
        _ cursor: inout ByteCursor, _ frame: JPEGFrame, _ tables: [JPEGTableID: JPEGHuffmanTable], _ nonzero: inout [[UInt64]],
        interval: Int
    ) throws(AvatarImage.Flaw) -> [UInt8] {
        var decoder = JPEGBlockDecoder(bits: JPEGBits(cursor.bytes, at: cursor.offset), band: band)
        var data: [UInt8] = []
        let alone = parts.count == 1 ? frame.components[parts[0].component] : nil
        let (width, height) = (alone?.width ?? frame.width, alone?.height ?? frame.height)
        let dcTables = parts.map { tables[.init(kind: 0, number: $0.dcTable)] }
        let acTables = parts.map { tables[.init(kind: 1, number: $0.acTable)] }
        var mcu = 0
        for y in 0..<height {
            for x in 0..<width {
                if interval > 0, mcu > 0, mcu.isMultiple(of: interval) {
                    data += try Self.interval(&cursor, decoder, isLast: false)
                    let marker = UInt8(0xD0 + (mcu / interval - 1) % 8)
                    guard try JPEGFile.marker(&cursor) == marker else { throw .damaged }
                    data += [0xFF, marker]
                    decoder.restart(at: cursor.offset)
                }
                mcu += 1
                if band.first > 0, let alone {
                    try decoder.decodeProgressiveAC(acTables[0], &nonzero[parts[0].component][y * alone.stride + x])
                    continue
                }
                for number in parts.indices {
                    let component = frame.components[parts[number].component]
                    for _ in 0..<(alone == nil ? component.horizontalSampling * component.verticalSampling : 1) {
                        try decoder.decodeDC(dcTables[number])
                        if !isProgressive { try decoder.decodeSequentialAC(acTables[number]) }
                    }
                }
            }
        }
        return data + (try Self.interval(&cursor, decoder, isLast: true))
    }

    /// The bytes up to the end of the last block; moves to the next marker, behind whatever follows. A restart marker behind the last interval, which
    /// some encoders write, is skipped, as libjpeg skips it.
    private static func interval(
        _ cursor: inout ByteCursor, _ decoder: JPEGBlockDecoder, isLast: Bool
    ) throws(AvatarImage.Flaw) -> [UInt8] {
        // A band ends with its interval: a longer run would hide bits in its length.
        guard decoder.endOfBandRun == 0 else { throw .damaged }
        let data = decoder.bits.padded(from: cursor.offset)
        let bytes = cursor.bytes
        cursor.offset = decoder.bits.offset
        while cursor.offset + 1 < bytes.count {
            let marker = bytes[cursor.offset + 1]
            let isRestart = (0xD0...0xD7).contains(marker)
            // No marker: a zero is behind data, and a byte of ones fills up (§B.1.1.2).
            if bytes[cursor.offset] == 0xFF, marker != 0, marker != 0xFF, !isLast || !isRestart { return data }
            cursor.offset += 1
        }
        throw .damaged
    }
}
