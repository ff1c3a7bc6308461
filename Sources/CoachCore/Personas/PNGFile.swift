import BinaryFormats

/// PNG (W3C, third edition): chunks of length, type, data and CRC.
enum PNGFile {
    static let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]

    /// Bytes of the chunk IEND, which has no data.
    static let endLength = 12

    struct Chunk {
        var type: String
        var data: ArraySlice<UInt8>
        /// In the file, with length and CRC.
        var range: Range<Int>
    }

    /// The chunks that make pixels; all others, texts, EXIF, profiles and animation among them, are removed.
    private static let kept: Set<String> = ["IHDR", "PLTE", "tRNS", "IDAT", "IEND"]

    static func cleaned(_ bytes: [UInt8]) throws(AvatarImage.Flaw) -> [UInt8] {
        var result = signature
        var hasPixels = false
        for chunk in try chunks(bytes) {
            if chunk.type == "IHDR" {
                guard chunk.data.count == 13 else { throw .damaged }
                var header = ByteCursor(Array(chunk.data))
                try AvatarImage.check(width: try header.bigEndian(4), height: try header.bigEndian(4))
            }
            hasPixels = hasPixels || chunk.type == "IDAT"
            // Only ancillary chunks (bit 5 of the first letter) may be dropped.
            if kept.contains(chunk.type) {
                result += bytes[chunk.range]
            } else if chunk.type.utf8.first.map({ $0 & 0x20 == 0 }) ?? true {
                throw .damaged
            }
        }
        guard hasPixels else { throw .damaged }
        return result
    }

    /// All chunks up to IEND; what follows it is no part of the picture. The first is IHDR.
    static func chunks(_ bytes: [UInt8]) throws(AvatarImage.Flaw) -> [Chunk] {
        var cursor = ByteCursor(bytes, at: signature.count)
        var chunks: [Chunk] = []
        while chunks.last?.type != "IEND" {
            let start = cursor.offset
            let length = try cursor.bigEndian(4)
            let checked = cursor.offset
            let type = String(decoding: try cursor.take(4), as: UTF8.self)
            let data = try cursor.take(length)
            let checksum = CRC32.of(bytes[checked..<cursor.offset])
            guard try cursor.bigEndian(4) == Int(checksum), chunks.isEmpty == (type == "IHDR") else { throw .damaged }
            chunks.append(Chunk(type: type, data: data, range: start..<cursor.offset))
        }
        return chunks
    }

    static func chunk(_ type: String, _ data: [UInt8]) -> [UInt8] {
        func bigEndian(_ value: UInt32) -> [UInt8] { withUnsafeBytes(of: value.bigEndian) { Array($0) } }
        let checked = Array(type.utf8) + data
        return bigEndian(UInt32(data.count)) + checked + bigEndian(CRC32.of(checked[...]))
    }
}
