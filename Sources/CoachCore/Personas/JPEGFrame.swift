/// What a frame header (ITU-T T.81 §B.2.2) says of the pixels.
struct JPEGFrame {
    struct Component {
        let id: UInt8
        let quantization: Int
        /// In a unit of several components.
        let (across, down): (Int, Int)
        /// In a scan of this component alone.
        let (width, height): (Int, Int)
        /// In a row of all blocks, also those that fill the units up.
        let stride: Int
        let rows: Int
    }

    let isProgressive: Bool
    let components: [Component]
    /// Units of blocks of all components.
    let (width, height): (Int, Int)

    /// Blocks of 8 × 8 samples of all components together.
    var blocks: Int { components.reduce(0) { $0 + $1.width * $1.height } }

    init(_ data: [UInt8], isProgressive: Bool) throws(AvatarImage.Flaw) {
        var frame = ByteCursor(data)
        let precision = try frame.bigEndian(1)
        let height = try frame.bigEndian(2)
        let width = try frame.bigEndian(2)
        let count = try frame.bigEndian(1)
        guard precision == 8 || precision == 12, (1...4).contains(count), data.count == 6 + 3 * count else { throw .damaged }
        try AvatarImage.check(width: width, height: height, bitsPerPixel: (precision == 8 ? 8 : 16) * count)
        // Of a component: id, horizontal and vertical sampling, and the number of its table.
        let entries = (0..<count).map { data[(6 + 3 * $0)..<(9 + 3 * $0)] }.map { Array($0) }
        let samplings = entries.map { (across: Int($0[1] >> 4), down: Int($0[1] & 0x0F)) }
        guard samplings.allSatisfy({ (1...4).contains($0.across) && (1...4).contains($0.down) }), entries.allSatisfy({ $0[2] < 4 }),
            Set(entries.map { $0[0] }).count == count
        else { throw .damaged }
        let (widest, highest) = (samplings.map(\.across).max() ?? 1, samplings.map(\.down).max() ?? 1)
        let units = (width: Self.parts(width, of: 8 * widest), height: Self.parts(height, of: 8 * highest))
        components = zip(entries, samplings).map { entry, sampling in
            Component(
                id: entry[0], quantization: Int(entry[2]), across: sampling.across, down: sampling.down,
                width: Self.parts(width * sampling.across, of: 8 * widest), height: Self.parts(height * sampling.down, of: 8 * highest),
                stride: units.width * sampling.across, rows: units.height * sampling.down)
        }
        (self.width, self.height) = (units.width, units.height)
        self.isProgressive = isProgressive
    }

    private static func parts(_ side: Int, of length: Int) -> Int { (side + length - 1) / length }
}
