/// Reads blocks of coefficients (§F.2, §G.2), and forgets all but which are nonzero.
struct JPEGBlockDecoder {
    private(set) var bits: JPEGBits
    private let band: JPEGSpectralBand
    /// EOBRUN: following blocks without further coefficients.
    private(set) var endOfBandRun = 0

    init(bits: JPEGBits, band: JPEGSpectralBand) {
        (self.bits, self.band) = (bits, band)
    }

    mutating func restart(at offset: Int) {
        bits.align(at: offset)
        endOfBandRun = 0
    }

    /// Nil where no table is needed: for one more bit of a DC coefficient.
    mutating func decodeDC(_ table: JPEGHuffmanTable?) throws(AvatarImage.Flaw) {
        if band.refines {
            _ = try bits.take(1)
            return
        }
        guard let table else { throw .damaged }
        let size = try table.value(&bits)
        guard size <= 16 else { throw .damaged }
        _ = try bits.take(size)
    }

    mutating func decodeSequentialAC(_ table: JPEGHuffmanTable?) throws(AvatarImage.Flaw) {
        guard let table else { throw .damaged }
        var index = 1
        while index < 64 {
            let (zeros, size) = try run(table)
            if size == 0, zeros < 15 { return }
            index += zeros + 1
            guard size == 0 || index <= 64 else { throw .damaged }
            _ = try bits.take(size)
        }
    }

    mutating func decodeProgressiveAC(_ table: JPEGHuffmanTable?, _ nonzero: inout UInt64) throws(AvatarImage.Flaw) {
        if endOfBandRun > 0, !band.refines {
            endOfBandRun -= 1
        } else if let table {
            if band.refines { try refineAC(table, &nonzero) } else { try beginAC(table, &nonzero) }
        } else {
            throw .damaged
        }
    }

    private mutating func beginAC(_ table: JPEGHuffmanTable, _ nonzero: inout UInt64) throws(AvatarImage.Flaw) {
        var index = band.first
        while index <= band.last {
            let (zeros, size) = try run(table)
            if size == 0, zeros < 15 {
                endOfBandRun = 1 << zeros - 1 + (try bits.take(zeros))
                return
            }
            index += zeros
            if size > 0 {
                guard index <= band.last else { throw .damaged }
                _ = try bits.take(size)
                nonzero |= 1 << UInt64(index)
            }
            index += 1
        }
    }

    private mutating func refineAC(_ table: JPEGHuffmanTable, _ nonzero: inout UInt64) throws(AvatarImage.Flaw) {
        var index = band.first
        while endOfBandRun == 0, index <= band.last {
            var (zeros, size) = try run(table)
            if size == 0, zeros < 15 {
                endOfBandRun = 1 << zeros + (try bits.take(zeros))
                break
            }
            guard size <= 1 else { throw .damaged }
            _ = try bits.take(size)
            // One more bit of each nonzero coefficient on the way to the new one, or to the last of sixteen zeros.
            while index <= band.last {
                if nonzero >> UInt64(index) & 1 == 1 {
                    _ = try bits.take(1)
                } else if zeros == 0 {
                    break
                } else {
                    zeros -= 1
                }
                index += 1
            }
            if size == 1 {
                guard index <= band.last else { throw .damaged }
                nonzero |= 1 << UInt64(index)
            }
            index += 1
        }
        guard endOfBandRun > 0 else { return }
        endOfBandRun -= 1
        if index <= band.last {
            let left = nonzero >> UInt64(index) & (UInt64.max >> UInt64(63 - (band.last - index)))
            _ = try bits.take(left.nonzeroBitCount)
        }
    }

    /// How many zeros come before a coefficient, and how many bits it has.
    private mutating func run(_ table: JPEGHuffmanTable) throws(AvatarImage.Flaw) -> (zeros: Int, size: Int) {
        let value = try table.value(&bits)
        return (value >> 4, value & 0x0F)
    }
}
