import Foundation

/// A share of counted rows with its 95 % interval (Wilson, 1927).
public struct Proportion: Sendable {
    public var hits = 0
    public var total = 0

    public init() {}

    /// One more row.
    mutating func count(_ isHit: Bool) {
        total += 1
        if isHit { hits += 1 }
    }

    public var share: Double { total == 0 ? 0 : Double(hits) / Double(total) }

    public var interval: ClosedRange<Double> {
        guard total > 0 else { return 0...1 }
        let z = 1.959_964
        let n = Double(total)
        let centre = (share + z * z / (2 * n)) / (1 + z * z / n)
        let half = z / (1 + z * z / n) * (share * (1 - share) / n + z * z / (4 * n * n)).squareRoot()
        return max(0, centre - half)...min(1, centre + half)
    }

    /// "0.912 (0.853–0.949)".
    var text: String { String(format: "%.3f (%.3f–%.3f)", share, interval.lowerBound, interval.upperBound) }
}
