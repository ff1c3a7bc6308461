/// The tables of a JPEG as they are before a scan, and those that were written for the scans before (ITU-T T.81 §B.2.4).
struct JPEGTables {
    private(set) var huffman: [JPEGTableID: JPEGHuffmanTable] = [:]
    /// MCUs between restart markers; 0: there are none.
    private(set) var interval = 0
    /// Segments by marker and number.
    private var current: [Key: [UInt8]] = [:]
    private var written: [Key: [UInt8]] = [:]
    /// Quantization tables of the components that scans had, by the component's index.
    private var quantization: [Int: [UInt8]] = [:]

    private struct Key: Hashable {
        let marker: UInt8
        let kind: Int
        let number: Int
    }

    /// Tables up to the end of the segment, and nothing else (§B.2.4.1).
    mutating func readQuantization(_ data: [UInt8]) throws(AvatarImage.Flaw) {
        var cursor = ByteCursor(data)
        repeat {
            let start = cursor.offset
            let head = try cursor.bigEndian(1)
            guard head >> 4 <= 1, head & 0x0F <= 3 else { throw .damaged }
            _ = try cursor.take(head >> 4 == 0 ? 64 : 128)
            current[Key(marker: 0xDB, kind: 0, number: head & 0x0F)] = Array(data[start..<cursor.offset])
        } while !cursor.isAtEnd
    }

    /// As for quantization; a table has the number of its codes of each length, and their values (§B.2.4.2).
    mutating func readHuffman(_ data: [UInt8]) throws(AvatarImage.Flaw) {
        var cursor = ByteCursor(data)
        repeat {
            let start = cursor.offset
            let head = try cursor.bigEndian(1)
            let counts = try cursor.take(16)
            let codes = counts.reduce(0) { $0 + Int($1) }
            guard head >> 4 <= 1, head & 0x0F <= 3, codes <= 256 else { throw .damaged }
            let id = JPEGTableID(kind: head >> 4, number: head & 0x0F)
            huffman[id] = try JPEGHuffmanTable(counts: counts, values: try cursor.take(codes))
            current[Key(marker: 0xC4, kind: id.kind, number: id.number)] = Array(data[start..<cursor.offset])
        } while !cursor.isAtEnd
    }

    mutating func readInterval(_ data: [UInt8]) throws(AvatarImage.Flaw) {
        guard data.count == 2 else { throw .damaged }
        interval = Int(data[0]) << 8 | Int(data[1])
        current[Key(marker: 0xDD, kind: 0, number: 0)] = data
    }

    /// The segments that a scan needs and that are not written yet, or not in this form. Throws when a table is missing, and when a component has
    /// another quantization table than in an earlier scan (§B.2.2): decoders use only one of them.
    mutating func segments(for scan: JPEGScan, _ frame: JPEGFrame) throws(AvatarImage.Flaw) -> [UInt8] {
        var needed: [Key] = []
        for part in scan.parts {
            let key = Key(marker: 0xDB, kind: 0, number: frame.components[part.component].quantization)
            guard quantization[part.component] == nil || quantization[part.component] == current[key] else { throw .damaged }
            quantization[part.component] = current[key]
            needed.append(key)
        }
        needed += scan.tables.map { Key(marker: 0xC4, kind: $0.kind, number: $0.number) }
        let restart = Key(marker: 0xDD, kind: 0, number: 0)
        if current[restart] != nil { needed.append(restart) }
        var segments: [UInt8] = []
        for key in needed where written[key] != current[key] || current[key] == nil {
            guard let data = current[key] else { throw .damaged }
            segments += JPEGFile.segment(key.marker, data)
            written[key] = data
        }
        return segments
    }
}
