import Foundation

/// A point in time of a billing event, in milliseconds since 1970-01-01T00:00:00Z, from 2008 (the first app store) to the end of 2099.
public struct BillingInstant: Hashable, Comparable, Sendable {
    public let milliseconds: Int64

    /// 2008-01-01 ..< 2100-01-01. Senders' sample payloads contain years such as 4466, which would sort after every real event for ever.
    public static let accepted: Range<Int64> = 1_199_145_600_000..<4_102_444_800_000

    /// nil outside `accepted`.
    public init?(milliseconds: Int64) {
        guard Self.accepted.contains(milliseconds) else { return nil }
        self.milliseconds = milliseconds
    }

    /// The first accepted instant.
    static let first = Self(clamping: accepted.lowerBound)

    /// Moves by `duration` milliseconds and stays within `accepted`.
    public func advanced(by duration: Int64) -> Self {
        // Neither bound of `accepted` can overflow with a duration of a few years.
        Self(clamping: milliseconds &+ duration)
    }

    /// The nearest accepted instant.
    public init(clamping milliseconds: Int64) {
        self.milliseconds = min(max(milliseconds, Self.accepted.lowerBound), Self.accepted.upperBound - 1)
    }

    /// The accepted instant that is nearest to `date`.
    public init(clamping date: Date) { self.init(clamping: Int64(date.timeIntervalSince1970 * 1000)) }

    public static func < (a: Self, b: Self) -> Bool { a.milliseconds < b.milliseconds }
}

/// When access ends.
public enum Expiry: Hashable, Comparable, Sendable {
    case at(BillingInstant)
    /// Lifetime purchases and grants without an end.
    case never

    /// The instant; nil for `never`.
    public var instant: BillingInstant? {
        if case .at(let instant) = self { instant } else { nil }
    }

    /// Whether `instant` is before the expiry. Access ends at the expiry itself.
    public func isAfter(_ instant: BillingInstant) -> Bool { self > .at(instant) }
}
