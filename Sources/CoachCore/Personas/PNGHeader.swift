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
    /// Bits of a channel.
    private let depth: Int

    init(_ data: ArraySlice<UInt8>) throws(AvatarImage.Flaw) {
        guard data.count == 13 else { throw .damaged }
        var header = ByteCursor(Array(data))
        let width = try header.bigEndian(4)
        let height = try header.bigEndian(4)
        depth = try header.bigEndian(1)
        // Methods of compression and filtering, of which there is one each, and interlacing.
        guard let colour = Colour(rawValue: try header.bigEndian(1)), colour.depths.contains(depth), try header.bigEndian(3) <= 1 else {
            throw .damaged
        }
        self.colour = colour
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
}
