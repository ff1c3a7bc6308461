/// What a frame header (ITU-T T.81 §B.2.2) says of the pixels.
struct JPEGFrame {
    struct Component {
        let id: UInt8
        let quantization: Int
        /// Sampling factors: blocks in a row and in a column of an MCU of several components.
        let (horizontalSampling, verticalSampling): (Int, Int)
        /// Blocks in a scan of this component alone, where each is an MCU.
        let (width, height): (Int, Int)
        /// In a row of all blocks, also those that fill the MCUs up.
        let stride: Int
        let rows: Int
    }

    let isProgressive: Bool
    let components: [Component]
    /// MCUs in a scan of several components.
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
        // Of a component: id, horizontal and vertical sampling factor, and the number of its table.
        let entries: [[UInt8]] = (0..<count).map { index in
            let start = 6 + 3 * index
            return Array(data[start..<(start + 3)])
        }
        let samplings = entries.map { (horizontal: Int($0[1] >> 4), vertical: Int($0[1] & 0x0F)) }
        guard samplings.allSatisfy({ (1...4).contains($0.horizontal) && (1...4).contains($0.vertical) }), entries.allSatisfy({ $0[2] < 4 }),
            Set(entries.map { $0[0] }).count == count
        else { throw .damaged }
        let (widest, highest) = (samplings.map(\.horizontal).max() ?? 1, samplings.map(\.vertical).max() ?? 1)
        let mcus = (width: Self.parts(width, of: 8 * widest), height: Self.parts(height, of: 8 * highest))
        components = zip(entries, samplings).map { entry, sampling in
            Component(
                id: entry[0], quantization: Int(entry[2]), horizontalSampling: sampling.horizontal, verticalSampling: sampling.vertical,
                width: Self.parts(width * sampling.horizontal, of: 8 * widest),
                height: Self.parts(height * sampling.vertical, of: 8 * highest),
                stride: mcus.width * sampling.horizontal, rows: mcus.height * sampling.vertical)
        }
        (self.width, self.height) = (mcus.width, mcus.height)
        self.isProgressive = isProgressive
    }

    private static func parts(_ side: Int, of length: Int) -> Int { (side + length - 1) / length }
}
