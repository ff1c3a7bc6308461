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

    /// Keeps the chunks that make pixels, each in the length that its content needs, so that no text fits behind that; the pixels are decompressed to see
    /// that they are those of the header. All other chunks, texts, EXIF, profiles and animation among them, are removed.
    static func cleaned(_ bytes: [UInt8]) throws(AvatarImage.Flaw) -> [UInt8] {
        let all = try chunks(bytes)
        guard let first = all.first else { throw .damaged }
        let header = try PNGHeader(first.data)
        var result = signature
        var paletteEntries = 0
        var hasTransparency = false
        var pixels: [UInt8] = []
        for chunk in all {
            switch chunk.type {
            case "IHDR": break
            case "PLTE":
                guard paletteEntries == 0, pixels.isEmpty, header.allowsPalette(bytes: chunk.data.count) else { throw .damaged }
                paletteEntries = chunk.data.count / 3
                // A suggestion for the screens of the past.
                if header.colour != .palette { continue }
            case "tRNS":
                guard !hasTransparency, pixels.isEmpty,
                    header.allowsTransparency(bytes: chunk.data.count, paletteEntries: paletteEntries)
                else { throw .damaged }
                hasTransparency = true
            case "IDAT": pixels += chunk.data
            case "IEND": guard chunk.data.isEmpty else { throw .damaged }
            default:
                // Only ancillary chunks (bit 5 of the first letter) may be dropped.
                if chunk.type.utf8.first.map({ $0 & 0x20 == 0 }) ?? true { throw .damaged }
                continue
            }
            result += bytes[chunk.range]
        }
        guard header.colour != .palette || paletteEntries > 0, header.allows(pixels: pixels) else { throw .damaged }
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
