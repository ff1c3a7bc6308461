/// How the pixels of a JPEG picture are to be turned: the tag Orientation of its EXIF data (EXIF 2.32 §4.6.5, TIFF 6.0 §2). A phone stores them as its
/// sensor has them: without the tag a portrait lies on its side.
enum JPEGOrientation {
    private static let identifier = Array("Exif\0\0".utf8)
    private static let tag = 0x0112
    /// The type SHORT.
    private static let short = 3

    /// Reads the orientation from the data of a segment APP1. nil for pixels that are upright, and for other or damaged data.
    static func read(_ data: [UInt8]) -> UInt8? {
        guard data.starts(with: identifier) else { return nil }
        let tiff = Array(data.dropFirst(identifier.count))
        let isLittleEndian = tiff.starts(with: Array("II".utf8))
        var cursor = ByteCursor(tiff, at: 2)
        func number(_ count: Int) throws(AvatarImage.Flaw) -> Int {
            try isLittleEndian ? cursor.littleEndian(count) : cursor.bigEndian(count)
        }
        do throws(AvatarImage.Flaw) {
            guard isLittleEndian || tiff.starts(with: Array("MM".utf8)), try number(2) == 42 else { return nil }
            cursor.offset = try number(4)
            let entries = try number(2)
            for _ in 0..<entries {
                let (tag, type, count) = try (number(2), number(2), number(4))
                let value = try number(2)
                _ = try number(2)
                if tag == Self.tag { return type == short && count == 1 && (2...8).contains(value) ? UInt8(value) : nil }
            }
        } catch {
            return nil
        }
        return nil
    }

    /// The data of a segment APP1 with the orientation alone.
    static func segmentData(_ orientation: UInt8) -> [UInt8] {
        let directory: [UInt8] = [0, 1, 0x01, 0x12, 0, UInt8(short), 0, 0, 0, 1, 0, orientation, 0, 0, 0, 0, 0, 0]
        return identifier + Array("MM".utf8) + [0, 42, 0, 0, 0, 8] + directory
    }
}
