/// PNG (W3C, third edition): chunks of length, type, data and CRC.
enum PNGFile {
    static let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]

    /// The chunks that make pixels; all others, texts, EXIF, profiles and animation among them, are removed.
    private static let kept: Set<String> = ["IHDR", "PLTE", "tRNS", "IDAT", "IEND"]

    static func cleaned(_ bytes: [UInt8]) throws(AvatarImage.Flaw) -> [UInt8] {
        var cursor = ByteCursor(bytes, at: signature.count)
        var result = signature
        var seen: Set<String> = []
        while true {
            let start = cursor.offset
            let length = try cursor.bigEndian(4)
            let checked = cursor.offset
            let type = String(decoding: try cursor.take(4), as: UTF8.self)
            let data = try cursor.take(length)
            let checksum = crc(bytes[checked..<cursor.offset])
            guard try cursor.bigEndian(4) == Int(checksum), seen.isEmpty == (type == "IHDR") else { throw .damaged }
            seen.insert(type)
            if type == "IHDR" {
                guard length == 13 else { throw .damaged }
                var header = ByteCursor(Array(data))
                try AvatarImage.check(width: try header.bigEndian(4), height: try header.bigEndian(4))
            }
            // Only ancillary chunks (bit 5 of the first letter) may be dropped.
            if kept.contains(type) {
                result += bytes[start..<cursor.offset]
            } else if type.utf8.first.map({ $0 & 0x20 == 0 }) ?? true {
                throw .damaged
            }
            if type == "IEND" { break }
        }
        guard seen.contains("IDAT") else { throw .damaged }
        return result
    }

    /// CRC-32 of ISO 3309, as in annex D.
    private static func crc(_ bytes: ArraySlice<UInt8>) -> UInt32 {
        ~bytes.reduce(UInt32.max) { crc, byte in table[Int((crc ^ UInt32(byte)) & 0xFF)] ^ crc >> 8 }
    }

    private static let table: [UInt32] = (0..<256).map { number in
        (0..<8).reduce(UInt32(number)) { value, _ in value & 1 == 1 ? 0xEDB8_8320 ^ value >> 1 : value >> 1 }
    }
}
