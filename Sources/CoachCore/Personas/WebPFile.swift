/// WebP (RFC 9649): a RIFF container with chunks of type, length and data, padded to even lengths.
enum WebPFile {
    static func cleaned(_ bytes: [UInt8]) throws(AvatarImage.Flaw) -> [UInt8] {
        var cursor = ByteCursor(bytes, at: 4)
        let end = 8 + (try cursor.littleEndian(4))
        guard end <= bytes.count else { throw .damaged }
        cursor.offset = 12
        var chunks: [UInt8] = []
        var canvas: Size?
        var picture: Size?
        var hasAlpha = false
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
                var sides = ByteCursor(data, at: 4)
                canvas = try Size(width: try sides.littleEndian(3) + 1, height: try sides.littleEndian(3) + 1)
            case "VP8 ", "VP8L":
                guard picture == nil else { throw .damaged }
                picture = type == "VP8 " ? try lossySize(data) : try losslessSize(data)
            case "ALPH":
                guard canvas != nil, picture == nil, !hasAlpha else { throw .damaged }
                hasAlpha = true
            case "ANIM", "ANMF": throw .animated
            default: continue
            }
            let size = UInt32(data.count)
            chunks += Array(type.utf8) + littleEndian(size) + data + (data.count % 2 == 1 ? [0] : [])
        }
        // The canvas of a still picture is the picture; readers that trust the one or the other see the same.
        guard cursor.offset == end, let picture, canvas ?? picture == picture else { throw .damaged }
        return Array("RIFF".utf8) + littleEndian(UInt32(chunks.count + 4)) + Array("WEBP".utf8) + chunks
    }

    private struct Size: Equatable {
        let width: Int
        let height: Int

        init(width: Int, height: Int) throws(AvatarImage.Flaw) {
            try AvatarImage.check(width: width, height: height)
            self.width = width
            self.height = height
        }
    }

    /// Frame header of VP8 (RFC 6386 §9.1), of a key frame that is shown and has its first partition.
    private static func lossySize(_ data: [UInt8]) throws(AvatarImage.Flaw) -> Size {
        var frame = ByteCursor(data)
        let tag = try frame.littleEndian(3)
        guard tag & 0x11 == 0x10, Array(try frame.take(3)) == [0x9D, 0x01, 0x2A] else { throw .damaged }
        let size = try Size(width: try frame.littleEndian(2) & 0x3FFF, height: try frame.littleEndian(2) & 0x3FFF)
        _ = try frame.take(tag >> 5)
        return size
    }

    /// RFC 9649 §3.4: signature, 14 bits each of width and height, less one, whether there is alpha, and three bits of version 0.
    private static func losslessSize(_ data: [UInt8]) throws(AvatarImage.Flaw) -> Size {
        var header = ByteCursor(data)
        guard try header.bigEndian(1) == 0x2F else { throw .damaged }
        let bits = try header.littleEndian(4)
        guard bits >> 29 == 0 else { throw .damaged }
        return try Size(width: bits & 0x3FFF + 1, height: bits >> 14 & 0x3FFF + 1)
    }

    private static func littleEndian(_ number: UInt32) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) } }
}
