/// Counts of durations in buckets at most 1.6 % wide (64 to each power of two), from 1 ns to 2^63 ns. Recording allocates nothing.
struct Histogram: ~Copyable {
    private let counts: UnsafeMutablePointer<UInt64>
    private(set) var total: UInt64 = 0
    private(set) var largest: UInt64 = 0
    private static let subBits = 6
    private static let capacity = 64 << subBits

    init() {
        counts = .allocate(capacity: Self.capacity)
        counts.initialize(repeating: 0, count: Self.capacity)
    }

    deinit { counts.deallocate() }

    @inline(__always)
    mutating func record(_ nanoseconds: UInt64) {
        counts[Self.bucket(nanoseconds)] &+= 1
        total &+= 1
        if nanoseconds > largest { largest = nanoseconds }
    }

    /// The quantile in nanoseconds for a share in 0...1; 0 when nothing was recorded.
    func quantile(_ share: Double) -> UInt64 {
        guard total > 0 else { return 0 }
        let wanted = max(1, UInt64((Double(total) * share).rounded(.up)))
        var seen: UInt64 = 0
        for bucket in 0..<Self.capacity {
            seen += counts[bucket]
            if seen >= wanted { return min(Self.middle(bucket), largest) }
        }
        return largest
    }

    /// The number of values above the given one, with the precision of a bucket.
    func count(above nanoseconds: UInt64) -> UInt64 {
        ((Self.bucket(nanoseconds) + 1)..<Self.capacity).reduce(0) { $0 + counts[$1] }
    }

    private static func bucket(_ value: UInt64) -> Int {
        let exponent = 63 - max(value, 1).leadingZeroBitCount
        guard exponent > subBits else { return Int(value) }
        return (exponent - subBits + 1) << subBits + Int(value >> UInt64(exponent - subBits)) & (1 << subBits - 1)
    }

    private static func middle(_ bucket: Int) -> UInt64 {
        let group = bucket >> subBits
        guard group > 0 else { return UInt64(bucket) }
        // `bucket(_:)` maps exponents up to `subBits` to themselves: those values fill the groups 0 and 1.
        let shift = UInt64(group - 1)
        let low = UInt64(bucket & (1 << subBits - 1) | 1 << subBits) << shift
        return low + (1 << shift) / 2
    }
}
