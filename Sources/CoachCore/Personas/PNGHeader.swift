import BinaryFormats

/// The chunk IHDR of a PNG file, and what it allows in others (W3C, third edition, §11.2 and §11.3.1).
struct PNGHeader {
    enum Colour: Int {
        case grey = 0
        case rgb = 2
        case palette = 3
        case greyAlpha = 4
        case rgbAlpha = 6

        fileprivate var channels: Int {
            switch self {
            case .grey, .palette: 1
            case .greyAlpha: 2
            case .rgb: 3
            case .rgbAlpha: 4
            }
        }

        fileprivate var depths: Set<Int> {
            switch self {
            case .grey: [1, 2, 4, 8, 16]
            case .palette: [1, 2, 4, 8]
            case .rgb, .greyAlpha, .rgbAlpha: [8, 16]
            }
        }
    }

    let colour: Colour
    private let width: Int
    private let height: Int
    /// Bits of a channel.
    private let depth: Int
    private let isInterlaced: Bool

    init(_ data: ArraySlice<UInt8>) throws(AvatarImage.Flaw) {
        guard data.count == 13 else { throw .damaged }
        var header = ByteCursor(Array(data))
        width = try header.bigEndian(4)
        height = try header.bigEndian(4)
        depth = try header.bigEndian(1)
        guard let colour = Colour(rawValue: try header.bigEndian(1)), colour.depths.contains(depth) else { throw .damaged }
        self.colour = colour
        // Methods of compression and filtering, of which there is one each, and interlacing.
        let methods = try header.bigEndian(3)
        guard methods <= 1 else { throw .damaged }
        isInterlaced = methods == 1
        try AvatarImage.check(width: width, height: height, bitsPerPixel: depth * colour.channels)
    }

    func allowsPalette(bytes: Int) -> Bool {
        let entries = bytes / 3
        guard bytes % 3 == 0, entries > 0 else { return false }
        return switch colour {
        case .palette: entries <= 1 << depth
        case .rgb, .rgbAlpha: entries <= 256
        case .grey, .greyAlpha: false
        }
    }

    func allowsTransparency(bytes: Int, paletteEntries: Int) -> Bool {
        switch colour {
        case .grey: bytes == 2
        case .rgb: bytes == 6
        case .palette: bytes <= paletteEntries
        case .greyAlpha, .rgbAlpha: false
        }
    }

    /// Whether a zlib stream contains the rows of the picture, each after its type of filter (§9.2), and nothing else.
    func allows(pixels: [UInt8]) -> Bool {
        let passes = rows
        let count = passes.reduce(0) { $0 + $1.count * $1.bytes }
        guard let data = ZlibStream.decompress(pixels, count: count) else { return false }
        var start = 0
        for pass in passes {
            for _ in 0..<pass.count {
                if data[start] > 4 { return false }
                start += pass.bytes
            }
        }
        return true
    }

    /// The rows of each pass that has pixels, with the bytes of one row and its type of filter.
    private var rows: [(count: Int, bytes: Int)] {
        passes.compactMap { pass in
            // As many columns as begin at `x` and have `dx` between them.
            let columns = (width - pass.x + pass.dx - 1) / pass.dx
            let count = (height - pass.y + pass.dy - 1) / pass.dy
            return columns > 0 && count > 0 ? (count, 1 + (columns * depth * colour.channels + 7) / 8) : nil
        }
    }

    /// Where passes begin, and the distances of their pixels: those of Adam7 (§8.1), or one pass of all pixels.
    private var passes: [(x: Int, y: Int, dx: Int, dy: Int)] {
        isInterlaced
            ? [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)] : [(0, 0, 1, 1)]
    }
}
