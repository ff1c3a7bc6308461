/// JPEG (ITU-T T.81): segments of marker, length and data, and entropy-coded data behind each SOS.
///
/// Kept are the frame, the scans up to their last block, the tables that a scan uses, and the orientation. Everything else is removed: other application
/// data and comments, tables that no scan uses, what follows the last block of a scan or of an interval, to the bit, and what follows the end.
enum JPEGFile {
    /// Progressive pictures have about ten. A decoder writes all pixels for each, however few bytes it has.
    static let maximumScans = 64

    static func cleaned(_ bytes: [UInt8]) throws(AvatarImage.Flaw) -> [UInt8] {
        var cursor = ByteCursor(bytes, at: 2)
        var result: [UInt8] = [0xFF, 0xD8]
        var frame: JPEGFrame?
        var tables = JPEGTables()
        var nonzero: [[UInt64]] = []
        var progression = JPEGProgression(components: 0)
        var scans = 0
        var codedBytes = 0
        while true {
            let marker = try marker(&cursor)
            if marker == 0xD9 { break }
            let data = Array(try cursor.take(try cursor.bigEndian(2) - 2))
            switch marker {
            case 0xC0, 0xC1, 0xC2:
                guard frame == nil else { throw .damaged }
                let new = try JPEGFrame(data, isProgressive: marker == 0xC2)
                nonzero = new.isProgressive ? new.components.map { [UInt64](repeating: 0, count: $0.stride * $0.rows) } : []
                progression = JPEGProgression(components: new.components.count)
                frame = new
                result += segment(marker, data)
            case 0xDA:
                scans += 1
                guard let frame, scans <= maximumScans else { throw .damaged }
                let scan = try JPEGScan(data, frame)
                try progression.add(scan)
                result += try tables.segments(for: scan, frame) + segment(marker, data)
                let coded = try scan.read(&cursor, frame, tables.huffman, &nonzero, interval: tables.interval)
                codedBytes += coded.count
                result += coded
            case 0xC4: try tables.readHuffman(data)
            case 0xDB: try tables.readQuantization(data)
            case 0xDD: try tables.readInterval(data)
            // Adobe's colour transform, without which colours are wrong: version 100, no flags.
            case 0xEE where data.starts(with: Array("Adobe".utf8)) && data.count == 12 && data[11] <= 2:
                result += segment(marker, Array("Adobe".utf8) + [0, 100, 0, 0, 0, 0, data[11]])
            // EXIF comes first, where readers look for it (EXIF 2.32 §4.5.4).
            case 0xE1 where result.count == 2:
                if let orientation = JPEGOrientation.read(data) { result += segment(marker, JPEGOrientation.segmentData(orientation)) }
            // Other application data (EXIF, XMP, profiles, thumbnails) and comments.
            case 0xE0...0xEF, 0xFE: continue
            default: throw .damaged
            }
        }
        // The shortest code has one bit, and a block has at least the code of its DC coefficient: a few bytes are no large picture.
        guard let frame, scans > 0, codedBytes * 8 >= frame.blocks else { throw .damaged }
        return result + [0xFF, 0xD9]
    }

    static func segment(_ marker: UInt8, _ data: [UInt8]) -> [UInt8] {
        let length = data.count + 2
        return [0xFF, marker, UInt8(length >> 8), UInt8(length & 0xFF)] + data
    }

    /// The next marker, behind fill bytes.
    static func marker(_ cursor: inout ByteCursor) throws(AvatarImage.Flaw) -> UInt8 {
        guard try cursor.bigEndian(1) == 0xFF else { throw .damaged }
        while true {
            let byte = UInt8(try cursor.bigEndian(1))
            if byte != 0xFF { return byte }
        }
    }
}
