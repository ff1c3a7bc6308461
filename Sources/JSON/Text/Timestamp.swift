#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A point in time with millisecond precision, encoded as RFC 3339 in UTC: `2026-03-01T12:00:00.000Z`.
///
/// Limited to the years 0–9999, which the format can represent; other times are clamped.
public struct Timestamp: Sendable, Hashable, Comparable {
    /// Milliseconds since 1970-01-01T00:00:00Z, leap seconds not counted.
    public let millisecondsSince1970: Int64

    private static let range: ClosedRange<Int64> = -62_167_219_200_000...253_402_300_799_999

    /// Clamps to the years 0–9999.
    public init(millisecondsSince1970: Int64) {
        self.millisecondsSince1970 = min(max(millisecondsSince1970, Self.range.lowerBound), Self.range.upperBound)
    }

    /// Rounds a date down to the millisecond.
    public init(_ date: Date) {
        // A `Date` made from whole milliseconds is off by a few nanoseconds, so it is rounded to microseconds first.
        let milliseconds = ((date.timeIntervalSince1970 * 1_000_000).rounded() / 1000).rounded(.down)
        self.init(millisecondsSince1970: Int64(exactly: milliseconds) ?? (milliseconds > 0 ? .max : .min))
    }

    /// The time of the system's clock.
    public static var now: Timestamp { Timestamp(Date()) }

    /// The same time as a `Date`.
    public var date: Date { Date(timeIntervalSince1970: Double(millisecondsSince1970) / 1000) }

    public static func < (a: Self, b: Self) -> Bool { a.millisecondsSince1970 < b.millisecondsSince1970 }
}

// MARK: - Text

extension Timestamp {
    /// The text with 24 characters. Costs one small allocation; uses no formatter.
    public var rfc3339: String {
        let millisecondsPerDay: Int64 = 86_400_000
        let day = millisecondsSince1970.floorDivided(by: millisecondsPerDay)
        let time = Int(millisecondsSince1970 - day * millisecondsPerDay)
        let date = CivilDate(daysSince1970: Int(day))
        // SAFETY: the template fills all 24 bytes, and `put` writes inside it.
        return String(unsafeUninitializedCapacity: 24) { text in
            for (index, byte) in "0000-00-00T00:00:00.000Z".utf8.enumerated() { text[index] = byte }
            func put(_ value: Int, at index: Int, digits: Int) {
                var rest = value
                for offset in (0..<digits).reversed() {
                    text[index + offset] = UInt8(ascii: "0") + UInt8(rest % 10)
                    rest /= 10
                }
            }
            put(date.year, at: 0, digits: 4)
            put(date.month, at: 5, digits: 2)
            put(date.day, at: 8, digits: 2)
            put(time / 3_600_000, at: 11, digits: 2)
            put(time / 60_000 % 60, at: 14, digits: 2)
            put(time / 1000 % 60, at: 17, digits: 2)
            put(time % 1000, at: 20, digits: 3)
            return 24
        }
    }

    /// Parses RFC 3339 with any offset and any number of decimals, of which those beyond milliseconds are dropped; nil for any other
    /// text. A leap second (`:60`) is read as the first second of the next minute.
    public init?(rfc3339 text: String) {
        var reader = DigitReader(bytes: Array(text.utf8)[...])
        guard let date = reader.date(), reader.skip("T", "t", " "), let hour = reader.number(2), reader.skip(":"),
            let minute = reader.number(2), reader.skip(":"), let second = reader.number(2), hour < 24, minute < 60, second <= 60
        else { return nil }
        var milliseconds = 0
        if reader.skip(".") {
            guard let fraction = reader.milliseconds() else { return nil }
            milliseconds = fraction
        }
        guard let offset = reader.offsetMinutes(), reader.isAtEnd else { return nil }
        let minutes = date.daysSince1970 * 1440 + hour * 60 + minute - offset
        self.init(millisecondsSince1970: Int64(minutes * 60_000 + second * 1000 + milliseconds))
    }
}
