/// A scan of a JPEG: its header (ITU-T T.81 §B.2.3), and the entropy-coded data, which are decoded without making pixels, to find their end: what
/// follows the last block, in an interval or in the scan, is no part of the picture.
struct JPEGScan {
    struct Part {
        /// The index of the frame's component.
        let component: Int
        let (average, rest): (Int, Int)
    }

    let parts: [Part]
    /// The coefficients of a block that the scan has, and whether they refine those of an earlier scan.
    let first: Int
    let last: Int
    let refines: Bool
    private let isProgressive: Bool

    init(_ data: [UInt8], _ frame: JPEGFrame) throws(AvatarImage.Flaw) {
        guard let count = data.first.map({ Int($0) }), (1...4).contains(count), data.count == 4 + 2 * count else { throw .damaged }
        var parts: [Part] = []
        for number in 0..<count {
            let (id, tables) = (data[1 + 2 * number], data[2 + 2 * number])
            guard let component = frame.components.firstIndex(where: { $0.id == id }), tables >> 4 < 4, tables & 0x0F < 4,
                !parts.contains(where: { $0.component == component })
            else { throw .damaged }
            parts.append(Part(component: component, average: Int(tables >> 4), rest: Int(tables & 0x0F)))
        }
        let blocks = parts.reduce(0) { $0 + frame.components[$1.component].across * frame.components[$1.component].down }
        guard count == 1 || blocks <= 10 else { throw .damaged }
        isProgressive = frame.isProgressive
        (first, last) = isProgressive ? (Int(data[1 + 2 * count]), Int(data[2 + 2 * count])) : (0, 63)
        refines = isProgressive && data[3 + 2 * count] >> 4 != 0
        // The averages are in scans of their own, which may have several components (§G.1.1.1).
        let isInOrder = first == 0 ? last == 0 : first <= last && last <= 63 && count == 1
        guard !isProgressive || isInOrder else { throw .damaged }
        self.parts = parts
    }

    /// The Huffman tables that the scan needs, by class (0: averages, 1: the rest) and number.
    var tables: [JPEGTableID] {
        parts.flatMap { part in
            if !isProgressive { return [JPEGTableID(kind: 0, number: part.average), JPEGTableID(kind: 1, number: part.rest)] }
            if first > 0 { return [JPEGTableID(kind: 1, number: part.rest)] }
            return refines ? [] : [JPEGTableID(kind: 0, number: part.average)]
        }
    }

    /// Decodes the data and moves the cursor to their end.
    /// - Parameters:
    ///   - known: of each block of each component, the coefficients that an earlier scan had, as a set of bits.
    ///   - interval: how many units are between restart markers; 0: there are none.
    /// - Returns: the data, each interval up to its last block.
    func read(
        _ cursor: inout ByteCursor, _ frame: JPEGFrame, _ tables: [JPEGTableID: JPEGHuffmanTable], _ known: inout [[UInt64]], interval: Int
    ) throws(AvatarImage.Flaw) -> [UInt8] {
        var decoder = JPEGBlockDecoder(bits: JPEGBits(cursor.bytes, at: cursor.offset), first: first, last: last, refines: refines)
        var data: [UInt8] = []
        let alone = parts.count == 1 ? frame.components[parts[0].component] : nil
        let (width, height) = (alone?.width ?? frame.width, alone?.height ?? frame.height)
        let averages = parts.map { tables[.init(kind: 0, number: $0.average)] }
        let rest = parts.map { tables[.init(kind: 1, number: $0.rest)] }
        var unit = 0
        for y in 0..<height {
            for x in 0..<width {
                if interval > 0, unit > 0, unit.isMultiple(of: interval) {
                    data += try Self.interval(&cursor, upTo: decoder.bits.offset)
                    let marker = UInt8(0xD0 + (unit / interval - 1) % 8)
                    guard try JPEGFile.marker(&cursor) == marker else { throw .damaged }
                    data += [0xFF, marker]
                    decoder.restart(at: cursor.offset)
                }
                unit += 1
                if first > 0, let alone {
                    try decoder.progressive(rest[0], &known[parts[0].component][y * alone.stride + x])
                    continue
                }
                for number in parts.indices {
                    let component = frame.components[parts[number].component]
                    for _ in 0..<(alone == nil ? component.across * component.down : 1) {
                        try decoder.average(averages[number])
                        if !isProgressive { try decoder.sequential(rest[number]) }
                    }
                }
            }
        }
        return data + (try Self.interval(&cursor, upTo: decoder.bits.offset))
    }

    /// The bytes up to the end of the last block; moves to the next marker, behind whatever follows.
    private static func interval(_ cursor: inout ByteCursor, upTo end: Int) throws(AvatarImage.Flaw) -> ArraySlice<UInt8> {
        let bytes = cursor.bytes
        let data = bytes[cursor.offset..<end]
        cursor.offset = end
        while cursor.offset + 1 < bytes.count {
            if bytes[cursor.offset] == 0xFF, bytes[cursor.offset + 1] != 0 { return data }
            cursor.offset += 1
        }
        throw .damaged
    }
}
