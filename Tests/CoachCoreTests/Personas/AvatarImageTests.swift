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
        func lossy(width: Int, height: Int) -> (String, [UInt8]) {
            ("VP8 ", [0, 0, 0, 0x9D, 0x01, 0x2A] + Self.littleEndian(width, 2) + Self.littleEndian(height, 2))
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
            #expect(throws: AvatarImage.Flaw.damaged, "two pictures") { try AvatarImage(webp([picture, picture])) }
        }
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
