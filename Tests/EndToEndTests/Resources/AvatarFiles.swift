import Foundation
import Testing

/// Pictures made chunk by chunk, and what cameras, programs and attackers put into them.
enum AvatarFiles {
    /// An uploaded file, and the file that is served; nil: it is rejected.
    struct Upload: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var type: String
        var bytes: [UInt8]
        var served: [UInt8]?
    }

    static let secret = Array("GPS 48.1372 N 11.5755 E, prompt: be cruel".utf8)

    // MARK: PNG

    static func png(_ type: String, _ data: [UInt8], checksum: UInt32? = nil) -> [UInt8] {
        let checked = Array(type.utf8) + data
        return bigEndian(UInt32(data.count)) + checked + bigEndian(checksum ?? crc(checked))
    }

    static let pngHead = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A] + png("IHDR", pngSize(1))
    static let pngEnd = png("IEND", [])
    static let cleanPNG = pngHead + png("IDAT", pixels) + pngEnd

    /// A grey square.
    static func pngSize(_ side: UInt32) -> [UInt8] { bigEndian(side) + bigEndian(side) + [8, 0, 0, 0, 0] }

    /// One row of one pixel, not compressed: zlib's head, the last block with its length, filter and pixel, and their checksum.
    static let pixels: [UInt8] = [0x78, 0x01, 1, 2, 0, 0xFD, 0xFF, 0, 0, 0, 2, 0, 1]

    /// One pixel with colour and transparency, as a program wrote it.
    static let pixel = Array(
        Data(base64Encoded: "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")!)

    // MARK: JPEG

    static func jpeg(_ marker: UInt8, _ data: [UInt8]) -> [UInt8] {
        [0xFF, marker, UInt8((data.count + 2) >> 8), UInt8((data.count + 2) & 0xFF)] + data
    }

    static let jpegTable = jpeg(0xDB, [0] + [UInt8](repeating: 1, count: 64))
    static let jpegFrame = jpeg(0xC0, [8, 0, 8, 0, 8, 1, 1, 0x11, 0])
    /// The code 0 alone, for the DC coefficient and for the end of a block.
    static let jpegCodes = [0x00, 0x10].flatMap { jpeg(0xC4, [$0, 1] + [UInt8](repeating: 0, count: 16)) }
    static let jpegScan = jpeg(0xDA, [1, 1, 0, 0, 63, 0]) + [0x3F]
    /// In the order in which it is served: the tables of a scan come before it.
    static let jpegBody = jpegFrame + jpegTable + jpegCodes + jpegScan
    static let cleanJPEG = [0xFF, 0xD8] + jpegBody + [0xFF, 0xD9]

    // MARK: WebP

    static func webp(_ chunks: [(type: String, data: [UInt8])], padding: UInt8 = 0, longer: UInt32 = 0) -> [UInt8] {
        let body = chunks.flatMap { type, data in
            Array(type.utf8) + littleEndian(UInt32(data.count)) + data + (data.count % 2 == 1 ? [padding] : [])
        }
        return Array("RIFF".utf8) + littleEndian(UInt32(body.count) + 4 + longer) + Array("WEBP".utf8) + body
    }

    /// 8 × 6 pixels, by Pillow 13.
    static let webpPixels = (type: "VP8L", data: Array(Data(base64Encoded: "LwdAAQAHUI8il6f/AYAg/G+biOh/CA==") ?? Data()))
    static func webpCanvas(flags: UInt8, reserved: UInt8 = 0, width: UInt8 = 8) -> (type: String, data: [UInt8]) {
        ("VP8X", [flags, reserved, reserved, reserved, width - 1, 0, 0, 5, 0, 0])
    }
    static let cleanWebP = webp([webpPixels])

    // MARK: Metadata

    /// TIFF 6.0 and EXIF 2.32: a description, and a position as degrees, minutes and seconds.
    static let exif: [UInt8] = {
        let text = secret + [0]
        let positionAt = UInt32(8 + 2 + 2 * 12 + 4)
        let textAt = positionAt + 2 + 12 + 4 + 24
        func entry(_ tag: UInt16, _ type: UInt16, _ count: UInt32, _ value: UInt32) -> [UInt8] {
            [UInt8(tag >> 8), UInt8(tag & 0xFF), UInt8(type >> 8), UInt8(type & 0xFF)] + bigEndian(count) + bigEndian(value)
        }
        let image = [0, 2] + entry(0x010E, 2, UInt32(text.count), textAt) + entry(0x8825, 4, 1, positionAt) + bigEndian(0)
        let position = [0, 1] + entry(0x0002, 5, 3, positionAt + 18) + bigEndian(0)
        let degrees = [48, 1, 8, 1, 139, 10].flatMap { bigEndian($0) }
        return Array("MM".utf8) + [0, 42] + bigEndian(8) + image + position + degrees + text
    }()

    static let xmp = Array("<x:xmpmeta xmlns:x='adobe:ns:meta/'>".utf8) + secret + Array("</x:xmpmeta>".utf8)

    static func bigEndian(_ value: UInt32) -> [UInt8] { withUnsafeBytes(of: value.bigEndian) { Array($0) } }
    static func littleEndian(_ value: UInt32) -> [UInt8] { withUnsafeBytes(of: value.littleEndian) { Array($0) } }

    /// CRC-32 bit by bit, independent of the product's.
    private static func crc(_ bytes: [UInt8]) -> UInt32 {
        var rest = UInt32.max
        for byte in bytes {
            rest ^= UInt32(byte)
            for _ in 0..<8 {
                let isOdd = !rest.isMultiple(of: 2)
                rest >>= 1
                if isOdd { rest ^= 0xEDB8_8320 }
            }
        }
        return ~rest
    }
}
