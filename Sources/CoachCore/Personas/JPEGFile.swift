/// JPEG (ITU-T T.81): segments of marker, length and data, and entropy-coded data behind each SOS.
enum JPEGFile {
    /// Progressive pictures have about ten. A decoder writes all pixels for each, however few bytes it has.
    static let maximumScans = 64

    static func cleaned(_ bytes: [UInt8]) throws(AvatarImage.Flaw) -> [UInt8] {
        var cursor = ByteCursor(bytes, at: 2)
        var result: [UInt8] = [0xFF, 0xD8]
        var blocks: Int?
        var scans = 0
        var codedBytes = 0
        while true {
            let marker = try marker(&cursor)
            if marker == 0xD9 { break }
            let length = try cursor.bigEndian(2)
            let data = Array(try cursor.take(length - 2))
            switch marker {
            case 0xC0, 0xC1, 0xC2:
                guard blocks == nil else { throw .damaged }
                blocks = try checkFrame(data)
            case 0xDA:
                scans += 1
                guard blocks != nil, scans <= maximumScans, let components = data.first, (1...4).contains(components),
                    data.count == 4 + 2 * Int(components)
                else { throw .damaged }
            case 0xC4: try checkHuffmanTables(data)
            case 0xDB: try checkQuantizationTables(data)
            // The restart interval.
            case 0xDD: guard data.count == 2 else { throw .damaged }
            // Adobe's colour transform, without which colours are wrong; in its exact length it has no room for more.
            case 0xEE where data.starts(with: Array("Adobe".utf8)) && data.count == 12: break
            // Other application data (EXIF, XMP, profiles, thumbnails) and comments.
            case 0xE0...0xEF, 0xFE: continue
            default: throw .damaged
            }
            result += [0xFF, marker, UInt8(length >> 8), UInt8(length & 0xFF)] + data
            if marker == 0xDA {
                let coded = entropyCoded(&cursor)
                codedBytes += coded.count
                result += coded
            }
        }
        // The shortest code has one bit, and a block has at least the code of its average: a few bytes are no large picture.
        guard let blocks, scans > 0, codedBytes * 8 >= blocks else { throw .damaged }
        return result + [0xFF, 0xD9]
    }

    /// Frame header (§B.2.2). Returns how many blocks of 8 × 8 samples all components have together.
    private static func checkFrame(_ data: [UInt8]) throws(AvatarImage.Flaw) -> Int {
        var frame = ByteCursor(data)
        let precision = try frame.bigEndian(1)
        let height = try frame.bigEndian(2)
        let width = try frame.bigEndian(2)
        let components = try frame.bigEndian(1)
        guard precision == 8 || precision == 12, (1...4).contains(components), data.count == 6 + 3 * components else { throw .damaged }
        try AvatarImage.check(width: width, height: height, bitsPerPixel: (precision == 8 ? 8 : 16) * components)
        // After the id of a component: its horizontal and its vertical sampling.
        let samplings = (0..<components).map { data[7 + 3 * $0] }
        let (horizontal, vertical) = (samplings.map { Int($0 >> 4) }, samplings.map { Int($0 & 0x0F) })
        guard let widest = horizontal.max(), let highest = vertical.max(), (horizontal + vertical).allSatisfy((1...4).contains) else {
            throw .damaged
        }
        func blocks(_ side: Int, _ factor: Int, _ largest: Int) -> Int { (side * factor + largest * 8 - 1) / (largest * 8) }
        return zip(horizontal, vertical).reduce(0) { sum, factors in
            sum + blocks(width, factors.0, widest) * blocks(height, factors.1, highest)
        }
    }

    /// Tables up to the end of the segment, and nothing else (§B.2.4.1).
    private static func checkQuantizationTables(_ data: [UInt8]) throws(AvatarImage.Flaw) {
        var tables = ByteCursor(data)
        repeat {
            let head = try tables.bigEndian(1)
            guard head >> 4 <= 1, head & 0x0F <= 3 else { throw .damaged }
            _ = try tables.take(head >> 4 == 0 ? 64 : 128)
        } while !tables.isAtEnd
    }

    /// As for quantization; a table has the number of its codes of each length, and their values (§B.2.4.2).
    private static func checkHuffmanTables(_ data: [UInt8]) throws(AvatarImage.Flaw) {
        var tables = ByteCursor(data)
        repeat {
            let head = try tables.bigEndian(1)
            let codes = try tables.take(16).reduce(0) { $0 + Int($1) }
            guard head >> 4 <= 1, head & 0x0F <= 3, codes <= 256 else { throw .damaged }
            _ = try tables.take(codes)
        } while !tables.isAtEnd
    }

    /// The next marker, behind fill bytes.
    private static func marker(_ cursor: inout ByteCursor) throws(AvatarImage.Flaw) -> UInt8 {
        guard try cursor.bigEndian(1) == 0xFF else { throw .damaged }
        while true {
            let byte = UInt8(try cursor.bigEndian(1))
            if byte != 0xFF { return byte }
        }
    }

    /// Up to the next marker that is no restart marker.
    private static func entropyCoded(_ cursor: inout ByteCursor) -> ArraySlice<UInt8> {
        let start = cursor.offset
        let bytes = cursor.bytes
        var index = start
        while index + 1 < bytes.count {
            let next = bytes[index + 1]
            if bytes[index] == 0xFF, next != 0, !(0xD0...0xD7).contains(next) { break }
            index += bytes[index] == 0xFF ? 2 : 1
        }
        cursor.offset = index
        return bytes[start..<index]
    }
}
