import Foundation
import JSON

/// A UTC day in the proleptic Gregorian calendar, as used for dates of prices.
public struct CalendarDay: Hashable, Sendable, Comparable, CustomStringConvertible {
    private static let seconds = 86_400

    /// Days since 1970-01-01.
    public let daysSinceEpoch: Int

    /// The first second of the day, since 1970-01-01T00:00:00Z.
    public var unixSeconds: Int { daysSinceEpoch * Self.seconds }
    /// The first second after the day.
    public var endUnixSeconds: Int { unixSeconds + Self.seconds }

    public init(daysSinceEpoch: Int) { self.daysSinceEpoch = daysSinceEpoch }

    /// The day that contains the instant.
    public init(unixSeconds: Int) { daysSinceEpoch = unixSeconds.floorDivided(by: Self.seconds) }

    /// The day that contains the date.
    public init(containing date: Date) { self.init(unixSeconds: Int(date.timeIntervalSince1970.rounded(.down))) }

    /// Parses `2026-03-01`; nil for any other text and for days that do not exist.
    public init?(_ text: String) {
        guard let date = CivilDate(text) else { return nil }
        daysSinceEpoch = date.daysSince1970
    }

    public static func < (a: Self, b: Self) -> Bool { a.daysSinceEpoch < b.daysSinceEpoch }

    /// `2026-03-01`.
    public var description: String { CivilDate(daysSince1970: daysSinceEpoch).description }
}

extension CalendarDay: JSONReadable {
    public init(_ json: JSONReader) throws(JSONFinding) {
        let field = JSONField.parsed("a date like \"2026-01-31\"", placeholder: CalendarDay(daysSinceEpoch: 0)) { CalendarDay($0) }
        self = try field.read(json)
    }
}
