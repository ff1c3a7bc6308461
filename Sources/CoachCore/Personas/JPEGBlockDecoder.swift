/// Reads blocks of coefficients (§F.2, §G.2), and forgets all but which ones there are.
struct JPEGBlockDecoder {
    private(set) var bits: JPEGBits
    let first: Int
    let last: Int
    let refines: Bool
    /// Following blocks without further coefficients.
    private var emptyBlocks = 0

    init(bits: JPEGBits, first: Int, last: Int, refines: Bool) {
        (self.bits, self.first, self.last, self.refines) = (bits, first, last, refines)
    }

    mutating func restart(at offset: Int) {
        bits.align(at: offset)
        emptyBlocks = 0
    }

    /// All but the average.
    mutating func sequential(_ table: JPEGHuffmanTable?) throws(AvatarImage.Flaw) {
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

    /// Nil where no table is needed: for one more bit of an average.
    mutating func average(_ table: JPEGHuffmanTable?) throws(AvatarImage.Flaw) {
        if refines {
            _ = try bits.take(1)
            return
        }
        guard let table else { throw .damaged }
        let size = try table.value(&bits)
        guard size <= 16 else { throw .damaged }
        _ = try bits.take(size)
    }

    mutating func progressive(_ table: JPEGHuffmanTable?, _ known: inout UInt64) throws(AvatarImage.Flaw) {
        if emptyBlocks > 0, !refines {
            emptyBlocks -= 1
        } else if let table {
            if refines { try refine(table, &known) } else { try begin(table, &known) }
        } else {
            throw .damaged
        }
    }

    private mutating func begin(_ table: JPEGHuffmanTable, _ known: inout UInt64) throws(AvatarImage.Flaw) {
        var index = first
        while index <= last {
            let (zeros, size) = try run(table)
            if size == 0, zeros < 15 {
                emptyBlocks = 1 << zeros - 1 + (try bits.take(zeros))
                return
            }
            index += zeros
            if size > 0 {
                guard index <= last else { throw .damaged }
                _ = try bits.take(size)
                known |= 1 << UInt64(index)
            }
            index += 1
        }
    }

    private mutating func refine(_ table: JPEGHuffmanTable, _ known: inout UInt64) throws(AvatarImage.Flaw) {
        var index = first
        while emptyBlocks == 0, index <= last {
            var (zeros, size) = try run(table)
            if size == 0, zeros < 15 {
                emptyBlocks = 1 << zeros + (try bits.take(zeros))
                break
            }
            guard size <= 1 else { throw .damaged }
            _ = try bits.take(size)
            // One more bit of each known coefficient on the way to the new one, or to the last of sixteen zeros.
            while index <= last {
                if known >> UInt64(index) & 1 == 1 {
                    _ = try bits.take(1)
                } else if zeros == 0 {
                    break
                } else {
                    zeros -= 1
                }
                index += 1
            }
            if size == 1 {
                guard index <= last else { throw .damaged }
                known |= 1 << UInt64(index)
            }
            index += 1
        }
        guard emptyBlocks > 0 else { return }
        emptyBlocks -= 1
        if index <= last {
            let left = known >> UInt64(index) & (UInt64.max >> UInt64(63 - (last - index)))
            _ = try bits.take(left.nonzeroBitCount)
        }
    }

    /// How many zeros come before a coefficient, and how many bits it has.
    private mutating func run(_ table: JPEGHuffmanTable) throws(AvatarImage.Flaw) -> (zeros: Int, size: Int) {
        let value = try table.value(&bits)
        return (value >> 4, value & 0x0F)
    }
}
