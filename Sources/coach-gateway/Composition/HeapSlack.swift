/// When a trim of the heap is worth its time. Pure.
struct HeapSlack {
    /// Bytes.
    struct Reading {
        /// Pages of no file that are in memory.
        var resident: Int
        /// Of them, what malloc has given out.
        var used: Int

        fileprivate var slack: Int { resident - used }
    }

    /// Less is not worth it.
    private static let least = 16 << 20

    /// What the last trim could not give back: stacks, tables, and holes smaller than a page.
    private var rest = 0

    func isWorthTrimming(_ reading: Reading) -> Bool { reading.slack - rest > max(Self.least, reading.used / 8) }

    mutating func trimmed(to reading: Reading) { rest = reading.slack }
}
