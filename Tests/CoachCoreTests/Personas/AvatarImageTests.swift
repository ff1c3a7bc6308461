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
}
