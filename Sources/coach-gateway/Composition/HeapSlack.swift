/// When a trim of the heap is worth its time. Pure.
///
/// A trim holds malloc's lock while it walks the heap and gives pages back: 0.2 ms for each MiB given back, and up to 0.05 ms for each MiB
/// that is in use (glibc 2.36, one arena, blocks of 0.5 to 4 KiB). A thread that wants memory of the same arena waits for so long. While
/// streams run, a trim may take `longestWait`; what would take longer waits until none runs, and malloc uses it for new requests meanwhile.
struct HeapSlack {
    /// Bytes.
    struct Reading {
        /// Pages of no file that are in memory.
        var resident: Int
        /// The part of `resident` that malloc has given out.
        var used: Int

        var slack: Int { resident - used }
    }

    /// Less is not worth it.
    private static let least = 16 << 20
    /// While streams run. The contract for tokens is the same: none is delayed by more.
    private static let longestWait = Duration.milliseconds(5)
    private static let perMebibyteFreed = Duration.microseconds(200)
    private static let perMebibyteUsed = Duration.microseconds(50)

    /// What the last trim could not give back: stacks, tables, and holes smaller than a page.
    private var rest = 0

    func isWorthTrimming(_ reading: Reading, isStreaming: Bool) -> Bool {
        let gathered = reading.slack - rest
        guard gathered > max(Self.least, reading.used / 8) else { return false }
        return !isStreaming || Self.duration(freed: gathered, used: reading.used) <= Self.longestWait
    }

    mutating func trimmed(to reading: Reading) { rest = reading.slack }

    /// How long a trim that gives back `freed` bytes holds the heap at most, when `used` are in use.
    static func duration(freed: Int, used: Int) -> Duration {
        perMebibyteFreed * (Double(freed) / 1_048_576) + perMebibyteUsed * (Double(used) / 1_048_576)
    }
}
