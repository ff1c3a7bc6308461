/// WebP (RFC 9649): a RIFF container with chunks of type, length and data, padded to even lengths.
enum WebPFile {
    static func cleaned(_ bytes: [UInt8]) throws(AvatarImage.Flaw) -> [UInt8] {
        var cursor = ByteCursor(bytes, at: 4)
        let end = 8 + (try cursor.littleEndian(4))
        guard end <= bytes.count else { throw .damaged }
        cursor.offset = 12
        var chunks: [UInt8] = []
        var pictures = 0
        while cursor.offset < end {
            let type = String(decoding: try cursor.take(4), as: UTF8.self)
            let length = try cursor.littleEndian(4)
            var data = Array(try cursor.take(length))
            if length % 2 == 1 { _ = try cursor.take(1) }
            switch type {
            case "VP8X":
                guard length == 10, chunks.isEmpty else { throw .damaged }
                if data[0] & 0x02 != 0 { throw .animated }
                // Only alpha remains: profile, EXIF and XMP are removed. Three bytes are reserved.
                data.replaceSubrange(..<4, with: [data[0] & 0x10, 0, 0, 0])
                var canvas = ByteCursor(data, at: 4)
                try AvatarImage.check(width: try canvas.littleEndian(3) + 1, height: try canvas.littleEndian(3) + 1)
            case "VP8 ":
                pictures += 1
                try checkLossy(data)
            case "VP8L":
                pictures += 1
                try checkLossless(data)
            case "ALPH": break
            case "ANIM", "ANMF": throw .animated
            default: continue
            }
            let size = UInt32(data.count)
            chunks += Array(type.utf8) + littleEndian(size) + data + (data.count % 2 == 1 ? [0] : [])
        }
        guard pictures == 1 else { throw .damaged }
        return Array("RIFF".utf8) + littleEndian(UInt32(chunks.count + 4)) + Array("WEBP".utf8) + chunks
    }

    /// Frame header of VP8 (RFC 6386 §9.1).
    private static func checkLossy(_ data: [UInt8]) throws(AvatarImage.Flaw) {
        var frame = ByteCursor(data, at: min(3, data.count))
        guard Array(try frame.take(3)) == [0x9D, 0x01, 0x2A] else { throw .damaged }
        try AvatarImage.check(width: try frame.littleEndian(2) & 0x3FFF, height: try frame.littleEndian(2) & 0x3FFF)
    }

    /// RFC 9649 §3.4: signature, then 14 bits each of width and height, less one.
    private static func checkLossless(_ data: [UInt8]) throws(AvatarImage.Flaw) {
        var header = ByteCursor(data)
        guard try header.bigEndian(1) == 0x2F else { throw .damaged }
        let bits = try header.littleEndian(4)
        try AvatarImage.check(width: bits & 0x3FFF + 1, height: bits >> 14 & 0x3FFF + 1)
    }

    private static func littleEndian(_ number: UInt32) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) } }
}
