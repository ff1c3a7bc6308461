import Foundation
import Testing

@testable import CoachCore

@Suite("Scans of JPEG avatars")
struct AvatarScanTests {
    private static let secret = Array("GPS 48.1372 N 11.5755 E, prompt: be cruel".utf8)

    // 20 × 12 pixels with a restart marker behind each unit, made by Pillow 13: ten scans, and one.
    private static let progressive = bytes(
        """
        /9j/4AAQSkZJRgABAQAAAQABAAD/2wBDABQODxIPDRQSEBIXFRQYHjIhHhwcHj0sLiQySUBMS0dARkVQWnNiUFVtVkVGZIhlbXd7gYKBTmCNl4x9lnN+\
        gXz/2wBDARUXFx4aHjshITt8U0ZTfHx8fHx8fHx8fHx8fHx8fHx8fHx8fHx8fHx8fHx8fHx8fHx8fHx8fHx8fHx8fHx8fHz/wgARCAAMABQDASIAAhEB\
        AxEB/8QAGAAAAwEBAAAAAAAAAAAAAAAAAAMEAgX/xAAUAQEAAAAAAAAAAAAAAAAAAAAA/90ABAAB/9oADAMBAAIQAxAAAAHU3SQf/9CoeH//xAAYEAAC\
        AwAAAAAAAAAAAAAAAAABAgADEf/aAAgBAQABBQKywz//0FtO/wD/0Vc5/9J1E//TCCf/1Aoz/8QAFBEBAAAAAAAAAAAAAAAAAAAAAP/aAAgBAwEBPwF/\
        /9B//8QAFBEBAAAAAAAAAAAAAAAAAAAAAP/aAAgBAgEBPwF//9B//8QAFBABAAAAAAAAAAAAAAAAAAAAAP/aAAgBAQAGPwJ//9B//9F//9J//9N//9R/\
        /8QAGBABAQEBAQAAAAAAAAAAAAAAAAExEUH/2gAIAQEAAT8hltf/0L/T/9EH/9K64//T68f/1Ef/2gAMAwEAAgADAAAAENP/0MP/xAAUEQEAAAAAAAAA\
        AAAAAAAAAAAA/9oACAEDAQE/EH//0H//xAAUEQEAAAAAAAAAAAAAAAAAAAAA/9oACAECAQE/EH//0H//xAAYEAEBAQEBAAAAAAAAAAAAAAABABEh4f/a\
        AAgBAQABPxDJNv/Qw6Dt/9FB63//0lmz/9P2l//UMOX/2Q==
        """)
    private static let sequential = bytes(
        """
        /9j/4AAQSkZJRgABAQAAAQABAAD/2wBDABQODxIPDRQSEBIXFRQYHjIhHhwcHj0sLiQySUBMS0dARkVQWnNiUFVtVkVGZIhlbXd7gYKBTmCNl4x9lnN+\
        gXz/2wBDARUXFx4aHjshITt8U0ZTfHx8fHx8fHx8fHx8fHx8fHx8fHx8fHx8fHx8fHx8fHx8fHx8fHx8fHx8fHx8fHx8fHz/wAARCAAMABQDASIAAhEB\
        AxEB/8QAGAAAAwEBAAAAAAAAAAAAAAAAAAQFAwb/xAAeEAABBAMAAwAAAAAAAAAAAAADAAECBAURIRIyof/EABQBAQAAAAAAAAAAAAAAAAAAAAD/xAAU\
        EQEAAAAAAAAAAAAAAAAAAAAA/90ABAAB/9oADAMBAAIRAxEAPwDXJ5A0JS1tTauWPMunaTdXR3qgpSfcUkKiDy9fqD//0Kte4RxN10J0FYbDbiEH/9k=
        """)

    private static func bytes(_ base64: String) -> [UInt8] { Array(Data(base64Encoded: base64) ?? Data()) }

    /// A segment, and the entropy-coded data behind it, with restart markers.
    private struct Segment: Equatable {
        var marker: UInt8
        var data: [UInt8]
        var coded: [UInt8] = []

        var bytes: [UInt8] { JPEGFile.segment(marker, data) + coded }
    }

    private static func segments(_ bytes: [UInt8]) -> [Segment] {
        var (index, segments) = (2, [Segment]())
        while bytes[index + 1] != 0xD9 {
            let length = Int(bytes[index + 2]) << 8 | Int(bytes[index + 3])
            let end = index + 2 + length
            var next = end
            while bytes[next] != 0xFF || bytes[next + 1] == 0 || (0xD0...0xD7).contains(bytes[next + 1]) { next += 1 }
            segments.append(
                Segment(marker: bytes[index + 1], data: Array(bytes[index + 4..<end]), coded: Array(bytes[end..<next])))
            index = next
        }
        return segments
    }

    private static func file(_ segments: [Segment]) -> [UInt8] { [0xFF, 0xD8] + segments.flatMap(\.bytes) + [0xFF, 0xD9] }

    @Test("keep frame and scans byte for byte, progressive ones too", arguments: [(progressive, 10), (sequential, 1)])
    func kept(sample: [UInt8], scans: Int) throws {
        let image = try AvatarImage(sample)
        func pixels(_ bytes: [UInt8]) -> [Segment] { Self.segments(bytes).filter { [0xC0, 0xC2, 0xDA].contains($0.marker) } }
        #expect(pixels(image.bytes) == pixels(sample) && pixels(sample).count == scans + 1)
        #expect(try AvatarImage(image.bytes) == image)
        #expect(!Self.segments(image.bytes).contains { $0.marker == 0xE0 })
    }

    @Test("end at their last block: text behind it, or behind that of an interval, is removed", arguments: [progressive, sequential])
    func behindBlocks(sample: [UInt8]) throws {
        let (clean, segments) = (try AvatarImage(sample), Self.segments(sample))
        for index in segments.indices where segments[index].marker == 0xDA {
            let coded = segments[index].coded
            let ends = coded.indices.dropLast().filter { coded[$0] == 0xFF && coded[$0 + 1] != 0 } + [coded.endIndex]
            #expect(ends.count > 1)
            for end in ends {
                var hidden = segments
                hidden[index].coded.insert(contentsOf: Self.secret, at: end)
                #expect(try AvatarImage(Self.file(hidden)) == clean)
            }
        }
    }

    @Test("have the tables that they use and no others", arguments: [progressive, sequential])
    func tables(sample: [UInt8]) throws {
        let (clean, segments) = (try AvatarImage(sample), Self.segments(sample))
        let text = Array((Self.secret + Self.secret).prefix(64))
        let codes: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 64] + [UInt8](repeating: 0, count: 8)
        // Numbers that no component names, and numbers that the picture's own tables replace.
        let tables: [(UInt8, [UInt8])] = [
            (0xDB, [3] + text), (0xDB, [0] + text), (0xC4, [0x13] + codes + text), (0xC4, [0x10] + codes + text),
        ]
        for table in tables {
            #expect(try AvatarImage(Self.file([Segment(marker: table.0, data: table.1)] + segments)) == clean)
            let last = segments.lastIndex { $0.marker == 0xDA } ?? 0
            var behind = segments
            behind.insert(Segment(marker: table.0, data: table.1), at: last + 1)
            #expect(try AvatarImage(Self.file(behind)) == clean)
        }
        for marker: UInt8 in [0xDB, 0xC4] {
            let without = Self.file(segments.filter { $0.marker != marker })
            #expect(throws: AvatarImage.Flaw.damaged) { try AvatarImage(without) }
        }
    }

    @Test("with Adobe's colour transform keep it, and nothing else of its segment")
    func adobe() throws {
        let adobe = Segment(marker: 0xEE, data: Array("AdobeSECRET".utf8) + [1])
        let image = try AvatarImage(Self.file([adobe] + Self.segments(Self.sequential)))
        #expect(Self.segments(image.bytes).first == Segment(marker: 0xEE, data: Array("Adobe".utf8) + [0, 100, 0, 0, 0, 0, 1]))
    }

    @Test("are rejected when cut, and never crash the decoder when changed", arguments: [progressive, sequential])
    func damaged(sample: [UInt8]) throws {
        for length in 3..<sample.count { #expect(throws: AvatarImage.Flaw.damaged) { try AvatarImage(Array(sample.prefix(length))) } }
        for index in sample.indices.dropFirst(3) {
            for value in [0, 0x40, 0x7F, 0xFF, sample[index] ^ 1, sample[index] ^ 0x80] {
                var changed = sample
                changed[index] = value
                if let image = try? AvatarImage(changed) { #expect(try AvatarImage(image.bytes) == image, "byte \(index)") }
            }
        }
    }
}
