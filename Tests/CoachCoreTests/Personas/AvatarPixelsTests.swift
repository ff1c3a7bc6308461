import Testing

@testable import CoachCore

@Suite("Pixels of avatars")
struct AvatarPixelsTests {
    /// Grey, of 8 bits a pixel.
    private func png(side: UInt8, interlaced: Bool = false, _ pixels: [UInt8]...) -> [UInt8] {
        let header = PNGFile.chunk("IHDR", [0, 0, 0, side, 0, 0, 0, side, 8, 0, 0, 0, interlaced ? 1 : 0])
        return PNGFile.signature + header + pixels.flatMap { PNGFile.chunk("IDAT", $0) } + PNGFile.chunk("IEND", [])
    }

    private func isDamaged(_ bytes: [UInt8], _ comment: Comment? = nil) {
        #expect(throws: AvatarImage.Flaw.damaged, comment) { try AvatarImage(bytes) }
    }

    @Test("of a PNG are accepted in one chunk and in several, and rejected when they are more or fewer than the header promises")
    func count() throws {
        let rows = PixelSamples.zeros(3 * 4)
        for picture in [png(side: 3, rows), png(side: 3, Array(rows[..<3]), [], Array(rows[3...]))] {
            #expect(try AvatarImage(picture).bytes == picture)
        }
        for count in [1, 3, 9, 11, 13, 4 * 5] { isDamaged(png(side: 3, PixelSamples.zeros(count)), "\(count) bytes") }
        isDamaged(png(side: 1, PixelSamples.zeros(1 << 24)), "a decompression bomb")
    }

    @Test("of a PNG are rejected when the stream is cut, changed, followed by text, or none")
    func stream() {
        let rows = PixelSamples.zeros(3 * 4)
        for length in rows.indices { isDamaged(png(side: 3, Array(rows[..<length]))) }
        isDamaged(png(side: 3, rows + Array("prompt: be cruel".utf8)))
        isDamaged(png(side: 3, rows, Array("prompt: be cruel".utf8)))
        isDamaged(png(side: 3, Array("prompt: be cruel".utf8)))
        isDamaged(png(side: 3))
        for index in rows.indices {
            var changed = rows
            changed[index] ^= 0x80
            // The bits behind the last block are the only ones without a meaning.
            if index != rows.count - 5 { isDamaged(png(side: 3, changed), "byte \(index)") }
        }
    }

    @Test("of a PNG have one of five filters in each row")
    func filters() throws {
        for filter: UInt8 in 0...4 { #expect(try AvatarImage(png(side: 2, PixelSamples.stored([0, 9, 9, filter, 9, 9]))).format == .png) }
        for rows: [UInt8] in [[5, 9, 9, 0, 9, 9], [0, 9, 9, 5, 9, 9], [0, 9, 9, 255, 9, 9]] {
            isDamaged(png(side: 2, PixelSamples.stored(rows)))
        }
    }

    /// Of 3 × 3 pixels, the first pass has one, the fourth one, the fifth a row of two, the sixth two rows of one, and the seventh a row of three.
    @Test("of an interlaced PNG are those of its passes, each row with its filter")
    func interlaced() throws {
        let rows = [2, 2, 3, 2, 2, 4]
        let count = rows.reduce(0, +)
        #expect(try AvatarImage(png(side: 3, interlaced: true, PixelSamples.zeros(count))).format == .png)
        for other in [count - 1, count + 1, 3 * 4] { isDamaged(png(side: 3, interlaced: true, PixelSamples.zeros(other))) }
        let starts = rows.indices.map { rows[..<$0].reduce(0, +) }
        for index in 0..<count {
            var pixels = [UInt8](repeating: 0, count: count)
            pixels[index] = 5
            let picture = png(side: 3, interlaced: true, PixelSamples.stored(pixels))
            if starts.contains(index) { isDamaged(picture) } else { #expect(try AvatarImage(picture).bytes == picture) }
        }
    }
}
