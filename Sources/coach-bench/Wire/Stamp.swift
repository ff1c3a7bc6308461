import Glibc

/// The text of a token: `~`, twelve letters, a space. The letters encode the nanosecond at which it was sent (modulo 2^48, 78 hours), so
/// that the reader can compute the latency whatever the format of the stream. There are no digits and no vowels: a stamp is not a number,
/// contains no word that an output guard would hold back, and needs no escape in JSON.
enum Stamp {
    static let length = 14
    static let mark = UInt8(ascii: "~")
    private static let alphabet: StaticString = "bcdfghjklmnpqrst"
    private static let digits = 12
    private static let mask: UInt64 = (1 << 48) - 1

    static let placeholder = "~bbbbbbbbbbbb "

    /// Writes the letters of `time` at `position`, which is the byte after the mark.
    static func write(_ time: UInt64, to position: UnsafeMutablePointer<UInt8>) {
        var rest = time
        var index = digits - 1
        while index >= 0 {
            position[index] = alphabet.utf8Start[Int(rest & 15)]
            rest >>= 4
            index -= 1
        }
    }

    /// The nanoseconds from a stamp to `now`.
    static func age(of stamp: UInt64, at now: UInt64) -> UInt64 {
        (now &- stamp) & mask
    }

    /// Finds stamps in text incrementally.
    struct Scanner {
        private var value: UInt64 = 0
        /// The letters read of the current stamp; negative outside of a stamp.
        private var seen = -1

        /// Calls `found` with each stamp that ends in `bytes`. nil stands for a token whose stamp is interrupted by the end of an event,
        /// because a server may split text anywhere: the token has arrived, but its latency is unknown.
        @inline(__always)
        mutating func scan(_ bytes: UnsafeRawBufferPointer, found: (UInt64?) -> Void) {
            guard let base = bytes.baseAddress else { return }
            let nibbles = Stamp.nibbles
            var index = 0
            while index < bytes.count {
                if seen < 0 {
                    guard let mark = memchr(base + index, Int32(Stamp.mark), bytes.count - index) else { return }
                    index = base.distance(to: UnsafeRawPointer(mark)) + 1
                    value = 0
                    seen = 0
                    continue
                }
                let nibble = nibbles[Int(bytes[index])]
                index += 1
                guard nibble < 16 else {
                    found(nil)
                    seen = -1
                    continue
                }
                value = value << 4 | UInt64(nibble)
                seen += 1
                if seen == Stamp.digits {
                    found(value)
                    seen = -1
                }
            }
        }
    }

    /// The nibble of each byte, or 255. Never changed after its initialisation.
    private nonisolated(unsafe) static let nibbles: UnsafePointer<UInt8> = {
        // Never deallocated: it is used until the process ends.
        let table = UnsafeMutablePointer<UInt8>.allocate(capacity: 256)
        table.initialize(repeating: 255, count: 256)
        for index in 0..<16 { table[Int(alphabet.utf8Start[index])] = UInt8(index) }
        return UnsafePointer(table)
    }()
}
