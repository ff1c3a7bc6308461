import Foundation
import Testing

@testable import CoachCore

@Suite("Scans of JPEG avatars")
struct AvatarScanTests {
    private static let secret = Array("GPS 48.1372 N 11.5755 E, prompt: be cruel".utf8)

    // 20 × 12 pixels with a restart marker behind each MCU, made by Pillow 13: ten scans, and one.
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

    /// A scan with Ss and Se, Ah and Al, of the components with these ids.
    private static func scan(
        _ band: ClosedRange<UInt8>, _ high: UInt8, _ low: UInt8, of ids: [UInt8] = [1], coded: [UInt8] = [0]
    ) -> Segment {
        let components: [UInt8] = ids.flatMap { [$0, 0] }
        let parameters = [band.lowerBound, band.upperBound, high << 4 | low]
        return Segment(marker: 0xDA, data: [UInt8(ids.count)] + components + parameters, coded: coded)
    }

    private static func quantization(_ value: UInt8) -> Segment {
        Segment(marker: 0xDB, data: [0] + [UInt8](repeating: value, count: 64))
    }

    /// A row of blocks of 8 × 8 pixels. Both tables have one code, a zero bit: for a DC coefficient like that before, and for `endOfBand`.
    private static func picture(
        isProgressive: Bool, blocks: UInt8 = 1, components: UInt8 = 1, endOfBand: UInt8 = 0, _ scans: [Segment]
    ) -> [UInt8] {
        var frame: [UInt8] = [8, 0, 8, 0, 8 * blocks, components]
        for id in 1...components { frame += [id, 0x11, 0] }
        let lengths: [UInt8] = [1] + [UInt8](repeating: 0, count: 15)
        let tables: [[UInt8]] = [[0x00] + lengths + [0], [0x10] + lengths + [endOfBand]]
        let head = [quantization(1), Segment(marker: isProgressive ? 0xC2 : 0xC0, data: frame)]
        return file(head + tables.map { Segment(marker: 0xC4, data: $0) } + scans)
    }

    /// The scans of the cleaned picture are those of this one.
    private func isKept(_ picture: [UInt8], _ comment: Comment? = nil) throws {
        func headers(_ bytes: [UInt8]) -> [[UInt8]] { Self.segments(bytes).filter { $0.marker == 0xDA }.map(\.data) }
        let image = try AvatarImage(picture)
        #expect(headers(image.bytes) == headers(picture), comment)
    }

    private func isDamaged(_ picture: [UInt8], _ comment: Comment? = nil) {
        #expect(throws: AvatarImage.Flaw.damaged, comment) { try AvatarImage(picture) }
    }

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

    @Test("that pad their last byte with other bits than ones are padded with ones")
    func padding() throws {
        let scans = [Self.scan(0...0, 0, 1), Self.scan(0...0, 1, 0, coded: [0x80])]
        let image = try AvatarImage(Self.picture(isProgressive: true, scans))
        // A byte of ones is followed by a zero.
        #expect(Self.segments(image.bytes).filter { $0.marker == 0xDA }.map(\.coded) == [[0x7F], [0xFF, 0]])
    }

    @Test("may be followed by a restart marker, which is removed", arguments: [progressive, sequential])
    func strayRestart(sample: [UInt8]) throws {
        let (clean, segments) = (try AvatarImage(sample), Self.segments(sample))
        // Also behind a fill byte, twice, and with text behind it.
        let markers = [[0xFF, 0xD0], [0xFF, 0xD7], [0xFF, 0xFF, 0xD3], [0xFF, 0xD0, 0xFF, 0xD1], [0xFF, 0xD0] + Self.secret]
        for index in segments.indices where segments[index].marker == 0xDA {
            for marker in markers {
                var stray = segments
                stray[index].coded += marker
                #expect(try AvatarImage(Self.file(stray)) == clean, "\(marker) behind segment \(index)")
            }
        }
    }

    @Test("of a sequential picture have each component once, with all coefficients and all their bits")
    func sequentialOnce() throws {
        let segments = Self.segments(Self.sequential)
        isDamaged(Self.file(segments + segments.suffix(1)), "the scan of all components twice")
        func picture(_ scans: Segment...) -> [UInt8] { Self.picture(isProgressive: false, components: 2, scans) }
        let (first, second, both) = (Self.scan(0...63, 0, 0), Self.scan(0...63, 0, 0, of: [2]), Self.scan(0...63, 0, 0, of: [1, 2]))
        for legal in [picture(first, second), picture(second, first), picture(both)] { try isKept(legal) }
        for illegal in [picture(first, second, first), picture(first, first), picture(both, second), picture(both, both)] {
            isDamaged(illegal)
        }
        let bands = [Self.scan(0...0, 0, 0), Self.scan(0...62, 0, 0), Self.scan(1...63, 0, 0)]
        for scan in bands + [Self.scan(0...63, 1, 0), Self.scan(0...63, 0, 1)] { isDamaged(picture(scan), "\(scan.data)") }
    }

    @Test("of a progressive picture have each bit of a coefficient once, from the highest to the lowest")
    func progressiveOnce() throws {
        func picture(_ scans: [Segment]) -> [UInt8] { Self.picture(isProgressive: true, scans) }
        let dc = Self.scan(0...0, 0, 0)
        let legal: [[Segment]] = [
            // As libjpeg's jpeg_simple_progression for grey pictures.
            [
                Self.scan(0...0, 0, 1), Self.scan(1...5, 0, 2), Self.scan(6...63, 0, 2), Self.scan(1...63, 2, 1), Self.scan(0...0, 1, 0),
                Self.scan(1...63, 1, 0),
            ],
            // As mozjpeg: a band in two parts, which are refined together.
            [dc, Self.scan(1...8, 0, 1), Self.scan(9...63, 0, 1), Self.scan(1...63, 1, 0)],
            // Together begun, refined in parts, the higher coefficients first.
            [dc, Self.scan(1...63, 0, 1), Self.scan(9...63, 1, 0), Self.scan(1...8, 1, 0)],
            // Without all coefficients, and without their lowest bits.
            [dc], [Self.scan(0...0, 0, 1), Self.scan(1...5, 0, 13)],
        ]
        for scans in legal { try isKept(picture(scans)) }
        let illegal: [(Comment, [Segment])] = [
            ("DC coefficients begun twice", [dc, dc]), ("a band begun twice", [dc, Self.scan(1...63, 0, 0), Self.scan(1...63, 0, 0)]),
            ("bands that overlap", [dc, Self.scan(1...6, 0, 0), Self.scan(6...63, 0, 0)]),
            ("DC coefficients refined first", [Self.scan(0...0, 1, 0)]), ("a band refined first", [dc, Self.scan(1...63, 1, 0)]),
            ("a band refined that was begun in part", [dc, Self.scan(1...5, 0, 1), Self.scan(1...63, 1, 0)]),
            ("a bit refined twice", [dc, Self.scan(1...63, 0, 1), Self.scan(1...63, 1, 0), Self.scan(1...63, 1, 0)]),
            ("a bit left out", [dc, Self.scan(1...63, 0, 2), Self.scan(1...63, 1, 0)]),
            ("two bits at once", [dc, Self.scan(1...63, 0, 2), Self.scan(1...63, 2, 0)]),
            ("AC coefficients before DC coefficients", [Self.scan(1...63, 0, 0), dc]),
            ("a bit beyond the precision", [Self.scan(0...0, 0, 14)]), ("DC and AC coefficients together", [Self.scan(0...63, 0, 0)]),
        ]
        for (comment, scans) in illegal { isDamaged(picture(scans), comment) }
        // Component 2 has no DC coefficients yet.
        let scans = [dc, Self.scan(1...63, 0, 0, of: [2]), Self.scan(0...0, 0, 0, of: [2])]
        isDamaged(Self.picture(isProgressive: true, components: 2, scans))
        try isKept(Self.picture(isProgressive: true, components: 2, [scans[0], scans[2], scans[1]]))
    }

    @Test("are at most 64")
    func maximumScans() throws {
        let single = (1...63 as ClosedRange<UInt8>).map { Self.scan($0...$0, 0, 0) }
        try isKept(Self.picture(isProgressive: true, [Self.scan(0...0, 0, 1)] + single))
        isDamaged(Self.picture(isProgressive: true, [Self.scan(0...0, 0, 1)] + single + [Self.scan(0...0, 1, 0)]))
    }

    @Test("have no end-of-band run that is longer than the blocks that follow")
    func endOfBandRun() throws {
        // The code's value 0x10 is a run of two or three, by the next bit.
        func picture(blocks: UInt8) -> [UInt8] {
            Self.picture(isProgressive: true, blocks: blocks, endOfBand: 0x10, [Self.scan(0...0, 0, 0), Self.scan(1...63, 0, 0)])
        }
        try isKept(picture(blocks: 2))
        isDamaged(picture(blocks: 1))
    }

    @Test("have one quantization table for each component")
    func quantizationTables() throws {
        let other = Self.quantization(2)
        isDamaged(Self.picture(isProgressive: true, [Self.scan(0...0, 0, 0), other, Self.scan(1...63, 0, 0)]))
        try isKept(Self.picture(isProgressive: false, components: 2, [Self.scan(0...63, 0, 0), other, Self.scan(0...63, 0, 0, of: [2])]))
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
