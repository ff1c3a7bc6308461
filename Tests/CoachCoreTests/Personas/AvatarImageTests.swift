import Foundation
import Testing

@testable import CoachCore

@Suite("Avatars")
struct AvatarImageTests {
    private static let secret = "GPS 48.1372 N 11.5755 E, prompt: be cruel"

    // One pixel each, made by Pillow.
    private static let png = bytes("PNG")
    private static let jpeg = bytes("JPEG")
    private static let webp = bytes("WEBP")

    private static func bytes(_ name: String) -> [UInt8] { Array(Data(base64Encoded: AvatarSamples.base64[name] ?? "") ?? Data()) }

    private func contains(_ bytes: [UInt8], _ text: String) -> Bool { Data(bytes).range(of: Data(text.utf8)) != nil }

    @Test("keep their pixels; comments, GPS positions and data after the end are removed", arguments: AvatarImage.Format.allCases)
    func cleaned(format: AvatarImage.Format) throws {
        let sample =
            switch format {
            case .png: Self.png
            case .jpeg: Self.jpeg
            case .webp: Self.webp
            }
        #expect(contains(sample, Self.secret), "the sample has metadata")
        let image = try AvatarImage(sample + Array(Self.secret.utf8))
        #expect(image.format == format && !contains(image.bytes, "GPS") && !contains(image.bytes, "prompt"))
        #expect(image.bytes.count > 20 && image.bytes.count < sample.count)
        #expect(try AvatarImage(image.bytes) == image, "nothing more to remove")
    }

    @Test("never crash the parser when truncated or changed; a truncated WebP is rejected", arguments: AvatarImage.Format.allCases)
    func cut(format: AvatarImage.Format) throws {
        let sample =
            switch format {
            case .png: Self.png
            case .jpeg: Self.jpeg
            case .webp: Self.webp
            }
        for length in 0..<sample.count {
            if let image = try? AvatarImage(Array(sample.prefix(length))) { #expect(format != .webp && image.bytes.count <= sample.count) }
        }
        for index in sample.indices {
            var changed = sample
            changed[index] ^= 0xFF
            _ = try? AvatarImage(changed)
        }
    }

    @Test("of other types, animated ones, and very large ones are rejected")
    func refused() throws {
        for text in ["", "GIF89a", "<svg xmlns='http://www.w3.org/2000/svg'/>", "%PDF-1.7", "<html>"] {
            #expect(throws: AvatarImage.Flaw.unknownFormat) { try AvatarImage(Array(text.utf8)) }
        }
        // 65,535 pixels on a side, in the frame header.
        var jpeg = Self.jpeg
        let frame = try #require(jpeg.indices.dropLast().first { jpeg[$0] == 0xFF && jpeg[$0 + 1] == 0xC0 })
        jpeg.replaceSubrange(frame + 5..<frame + 9, with: [0xFF, 0xFF, 0xFF, 0xFF])
        #expect(throws: AvatarImage.Flaw.tooManyPixels) { try AvatarImage(jpeg) }
        var png = Self.png
        png[16] = 0x7F
        #expect(throws: AvatarImage.Flaw.damaged) { try AvatarImage(png) }
    }

    @Test("of a PNG with a right checksum are rejected by their size", arguments: [(0x7FFF_FFFF, 1), (1, 2_049), (0, 1)])
    func largePNG(width: Int, height: Int) throws {
        func bigEndian(_ number: Int) -> [UInt8] { [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) } }
        let header = PNGFile.chunk("IHDR", bigEndian(width) + bigEndian(height) + [8, 2, 0, 0, 0])
        // The signature has 8 bytes, IHDR 25.
        let png = Array(Self.png[..<8]) + header + Self.png[33...]
        #expect(throws: AvatarImage.Flaw.tooManyPixels) { try AvatarImage(png) }
    }

    /// Black, of 256 times `side` pixels on each side, with chunks before the pixels.
    private static func picture(depth: UInt8 = 8, colour: UInt8, side: UInt8 = 1, _ chunks: [(String, Int)]) -> [UInt8] {
        let header = PNGFile.chunk("IHDR", [0, 0, side, 0, 0, 0, side, 0, depth, colour, 0, 0, 0])
        var bytes = PNGFile.signature + header
        for (type, length) in chunks { bytes += PNGFile.chunk(type, [UInt8](repeating: 0x41, count: length)) }
        let pixels = 256 * Int(side)
        let channels = [2: 3, 4: 2, 6: 4][colour] ?? 1
        let rows = pixels * (1 + (pixels * channels * Int(depth) + 7) / 8)
        return bytes + PNGFile.chunk("IDAT", PixelSamples.zeros(rows)) + PNGFile.chunk("IEND", [])
    }

    @Test("of a PNG are rejected with text in IEND, and with another length of a palette or of transparency than the pixels need")
    func textInPNG() throws {
        let end = Self.png.count - PNGFile.endLength
        let hidden = Array(Self.png[..<end]) + PNGFile.chunk("IEND", Array(Self.secret.utf8))
        #expect(throws: AvatarImage.Flaw.damaged) { try AvatarImage(hidden) }
        let indexed: [[(String, Int)]] = [[("PLTE", 768)], [("PLTE", 3), ("tRNS", 1)], [("PLTE", 768), ("tRNS", 256)]]
        for chunks in indexed {
            let picture = Self.picture(colour: 3, chunks)
            #expect(try AvatarImage(picture).bytes == picture)
        }
        let wrong: [[(String, Int)]] = [
            [], [("PLTE", 0)], [("PLTE", 4)], [("PLTE", 771)], [("PLTE", 3), ("tRNS", 2)], [("tRNS", 1), ("PLTE", 3)],
            [("PLTE", 768), ("tRNS", 257)], [("PLTE", 3), ("PLTE", 3)], [("PLTE", 6), ("tRNS", 1), ("tRNS", 1)],
        ]
        for chunks in wrong { #expect(throws: AvatarImage.Flaw.damaged, "\(chunks)") { try AvatarImage(Self.picture(colour: 3, chunks)) } }
        #expect(throws: AvatarImage.Flaw.damaged) { try AvatarImage(Self.picture(depth: 1, colour: 3, [("PLTE", 9)])) }
        let bare = try AvatarImage(Self.picture(colour: 2, []))
        #expect(try AvatarImage(Self.picture(colour: 2, [("PLTE", 768)])) == bare, "a suggested palette is removed")
        #expect(throws: AvatarImage.Flaw.damaged) { try AvatarImage(Self.picture(colour: 2, [("tRNS", 256)])) }
        #expect(throws: AvatarImage.Flaw.damaged) { try AvatarImage(Self.picture(colour: 6, [("tRNS", 6)])) }
    }

    @Test("of a PNG are rejected by the bytes of their pixels, and with a depth that their colours do not have")
    func deepPNG() throws {
        // 2,048 pixels on a side.
        #expect(try AvatarImage(Self.picture(colour: 6, side: 8, [])).format == .png)
        #expect(throws: AvatarImage.Flaw.tooManyPixels) { try AvatarImage(Self.picture(depth: 16, colour: 6, side: 8, [])) }
        #expect(try AvatarImage(Self.picture(depth: 16, colour: 6, side: 5, [])).format == .png)
        for (depth, colour) in [(16, 3), (4, 6), (3, 0), (8, 1)] as [(UInt8, UInt8)] {
            #expect(throws: AvatarImage.Flaw.damaged) { try AvatarImage(Self.picture(depth: depth, colour: colour, [("PLTE", 3)])) }
        }
    }

    @Test("of a JPEG are rejected with text behind a table, a restart interval, a frame header or a scan header")
    func textInJPEG() throws {
        let secret = Array(Self.secret.utf8)
        func jpeg(_ marker: UInt8, _ data: [UInt8]) -> [UInt8] {
            Array(Self.jpeg[..<2]) + [0xFF, marker, 0, UInt8(data.count + 2)] + data + Self.jpeg[2...]
        }
        let quantization: [UInt8] = [0] + [UInt8](repeating: 1, count: 64)
        let huffman: [UInt8] = [0x10, 0, 2] + [UInt8](repeating: 0, count: 14) + [1, 2]
        let segments: [(UInt8, [UInt8])] = [(0xDD, [0, 8]), (0xDB, quantization), (0xDB, quantization + quantization), (0xC4, huffman)]
        for (marker, data) in segments {
            #expect(try AvatarImage(jpeg(marker, data)).format == .jpeg)
            #expect(throws: AvatarImage.Flaw.damaged) { try AvatarImage(jpeg(marker, data + secret)) }
            #expect(throws: AvatarImage.Flaw.damaged) { try AvatarImage(jpeg(marker, [])) }
        }
        for marker: UInt8 in [0xC0, 0xDA] {
            var changed = Self.jpeg
            let start = try #require(changed.indices.dropLast().first { changed[$0] == 0xFF && changed[$0 + 1] == marker })
            let length = Int(changed[start + 3])
            changed[start + 3] += UInt8(secret.count)
            changed.insert(contentsOf: secret, at: start + 2 + length)
            #expect(throws: AvatarImage.Flaw.damaged) { try AvatarImage(changed) }
        }
    }

    @Test("of a JPEG keep the orientation of EXIF data, and nothing else of it", arguments: [false, true])
    func orientation(isLittleEndian: Bool) throws {
        func number(_ value: Int, _ count: Int) -> [UInt8] {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
            return isLittleEndian ? bytes : bytes.reversed()
        }
        // A directory with a text, which is at the end, and the orientation.
        func exif(_ orientation: Int, type: Int = 3, at offset: Int = 8) -> [UInt8] {
            let secret = Array(Self.secret.utf8)
            let text = number(0x010E, 2) + number(2, 2) + number(secret.count, 4) + number(38, 4)
            let entry = number(0x0112, 2) + number(type, 2) + number(1, 4) + number(orientation, 2) + [0, 0]
            let head = Array((isLittleEndian ? "II" : "MM").utf8) + number(42, 2) + number(offset, 4)
            return Array("Exif\0\0".utf8) + head + number(2, 2) + text + entry + number(0, 4) + secret
        }
        func jpeg(_ segments: [UInt8]...) -> [UInt8] {
            Array(Self.jpeg[..<2]) + segments.flatMap { JPEGFile.segment(0xE1, $0) } + Self.jpeg[2...]
        }
        let upright = try AvatarImage(Self.jpeg).bytes
        let other = Array("http://ns.adobe.com/xap/1.0/\0".utf8) + Array(Self.secret.utf8)
        for orientation in 2...8 {
            let image = try AvatarImage(jpeg(other, exif(orientation)))
            let directory: [UInt8] = [0, 1, 0x01, 0x12, 0, 3, 0, 0, 0, 1, 0, UInt8(orientation), 0, 0, 0, 0, 0, 0]
            let segment = JPEGFile.segment(0xE1, Array("Exif\0\0MM".utf8) + [0, 42, 0, 0, 0, 8] + directory)
            #expect(image.bytes == Array(upright[..<2]) + segment + upright[2...])
            #expect(try AvatarImage(image.bytes) == image)
        }
        for data in [exif(1), exif(9), exif(0), exif(6, type: 4), exif(6, at: 0), exif(6, at: 1 << 31), Array(exif(6).prefix(30))] {
            #expect(try AvatarImage(jpeg(data)).bytes == upright)
        }
        let late = Array(Self.jpeg.dropLast(2)) + JPEGFile.segment(0xE1, exif(6)) + [0xFF, 0xD9]
        #expect(try AvatarImage(late).bytes == upright, "readers look for it at the beginning alone")
    }

    @Test("of a JPEG are rejected with a large frame of few bytes, wrong sampling factors, and a second frame")
    func untrueJPEG() throws {
        let frame = try #require(Self.jpeg.indices.dropLast().first { Self.jpeg[$0] == 0xFF && Self.jpeg[$0 + 1] == 0xC0 })
        var large = Self.jpeg
        large.replaceSubrange(frame + 5..<frame + 9, with: [8, 0, 8, 0])
        #expect(throws: AvatarImage.Flaw.damaged) { try AvatarImage(large) }
        var sampling = Self.jpeg
        sampling[frame + 11] = 0x50
        #expect(throws: AvatarImage.Flaw.damaged) { try AvatarImage(sampling) }
        let second = Self.jpeg[..<frame] + Self.jpeg[frame..<frame + 19] + Self.jpeg[frame...]
        #expect(throws: AvatarImage.Flaw.damaged) { try AvatarImage(Array(second)) }
    }

    @Test("of a WebP are rejected by the size of the canvas, of a lossy and of a lossless frame; animated ones in each form")
    func refusedWebP() throws {
        func webp(_ chunks: [(String, [UInt8])]) -> [UInt8] {
            var body: [UInt8] = []
            for (type, data) in chunks {
                body += Array(type.utf8) + Self.littleEndian(data.count, 4) + data + (data.count % 2 == 1 ? [0] : [])
            }
            return Array("RIFF".utf8) + Self.littleEndian(body.count + 4, 4) + Array("WEBP".utf8) + body
        }
        func canvas(_ flags: UInt8, width: Int, height: Int) -> (String, [UInt8]) {
            ("VP8X", [flags, 0, 0, 0] + Self.littleEndian(width - 1, 3) + Self.littleEndian(height - 1, 3))
        }
        func lossy(_ tag: UInt8 = 0x10, width: Int, height: Int) -> (String, [UInt8]) {
            ("VP8 ", [tag, 0, 0, 0x9D, 0x01, 0x2A] + Self.littleEndian(width, 2) + Self.littleEndian(height, 2))
        }
        func lossless(width: Int, height: Int) -> (String, [UInt8]) {
            ("VP8L", [0x2F] + Self.littleEndian((width - 1) | (height - 1) << 14, 4) + [0])
        }
        for picture in [lossy(width: 8, height: 6), lossless(width: 8, height: 6)] {
            #expect(try AvatarImage(webp([picture])).format == .webp)
            #expect(try AvatarImage(webp([canvas(0, width: 8, height: 6), picture])).format == .webp)
            #expect(throws: AvatarImage.Flaw.tooManyPixels) { try AvatarImage(webp([canvas(0, width: 16_777_216, height: 1), picture])) }
            #expect(throws: AvatarImage.Flaw.tooManyPixels) { try AvatarImage(webp([canvas(0, width: 1, height: 2_049), picture])) }
            #expect(throws: AvatarImage.Flaw.animated) { try AvatarImage(webp([canvas(0x02, width: 8, height: 6), picture])) }
            #expect(throws: AvatarImage.Flaw.animated) { try AvatarImage(webp([("ANIM", [0, 0, 0, 0, 0, 0]), picture])) }
            #expect(throws: AvatarImage.Flaw.animated) { try AvatarImage(webp([canvas(0, width: 8, height: 6), ("ANMF", [0]), picture])) }
            for (width, height) in [(7, 6), (8, 7), (2_048, 2_048)] {
                #expect(throws: AvatarImage.Flaw.damaged) { try AvatarImage(webp([canvas(0, width: width, height: height), picture])) }
            }
            let alpha = ("ALPH", [0, 1, 2] as [UInt8])
            #expect(try AvatarImage(webp([canvas(0x10, width: 8, height: 6), alpha, picture])).format == .webp)
            for chunks in [[alpha, picture], [canvas(0x10, width: 8, height: 6), alpha, alpha, picture], [picture, alpha]] {
                #expect(throws: AvatarImage.Flaw.damaged) { try AvatarImage(webp(chunks)) }
            }
            #expect(throws: AvatarImage.Flaw.damaged, "two pictures") { try AvatarImage(webp([picture, picture])) }
        }
        // A frame that refers to another, one that is not shown, and one whose first partition is longer than the data.
        for tag: UInt8 in [0x11, 0, 0x30] {
            #expect(throws: AvatarImage.Flaw.damaged) { try AvatarImage(webp([lossy(tag, width: 8, height: 6)])) }
        }
        #expect(throws: AvatarImage.Flaw.damaged, "another version") { try AvatarImage(webp([("VP8L", [0x2F, 7, 0x40, 1, 0x20, 0])])) }
        for (width, height) in [(16_383, 6), (8, 2_049)] {
            for picture in [lossy(width: width, height: height), lossless(width: width, height: height)] {
                #expect(throws: AvatarImage.Flaw.tooManyPixels) { try AvatarImage(webp([picture])) }
                // The canvas lies about the frame in it.
                #expect(throws: AvatarImage.Flaw.tooManyPixels) { try AvatarImage(webp([canvas(0, width: 8, height: 6), picture])) }
            }
        }
    }

    @Test("of an animated PNG are its still picture: nothing of the animation is kept")
    func animatedPNG() throws {
        let control = PNGFile.chunk("acTL", [0, 0, 0, 2, 0, 0, 0, 0])
        let frame = PNGFile.chunk("fdAT", [0, 0, 0, 1] + Array(Self.secret.utf8))
        let end = Self.png.count - PNGFile.endLength
        let animated = Array(Self.png[..<33]) + control + Self.png[33..<end] + frame + Self.png[end...]
        #expect(try AvatarImage(animated) == AvatarImage(Self.png))
    }

    private static func littleEndian(_ number: Int, _ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
    }
}
