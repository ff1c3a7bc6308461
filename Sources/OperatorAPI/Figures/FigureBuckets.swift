import CoachCore
import Foundation
import JSON

/// The buckets of a figure, numbered in their order: hours, days of a time zone, or its weeks from Monday.
struct FigureBuckets {
    private static let hour = 3_600
    private static let day = 86_400

    private let grain: FigureQuery.Grain
    private let calendar: Calendar

    init(_ grain: FigureQuery.Grain, timeZone: String) {
        self.grain = grain
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = TimeZone(identifier: timeZone) ?? .gmt
        self.calendar = calendar
    }

    /// The number of the bucket that has this time.
    func number(of date: Date) -> Int {
        switch grain {
        case .hour: (Self.seconds(date) + offsetWithinHour(at: date)).floorDivided(by: Self.hour)
        case .day: day(of: date)
        // Day 4 was a Monday.
        case .week: (day(of: date) - 4).floorDivided(by: 7)
        }
    }

    func start(of number: Int) -> Date {
        switch grain {
        case .hour:
            let start = Date(timeIntervalSince1970: Double(number * Self.hour))
            return start.addingTimeInterval(-Double(offsetWithinHour(at: start)))
        case .day: return start(ofDay: number)
        case .week: return start(ofDay: number * 7 + 4)
        }
    }

    /// The period directly before. It has as many local days when `period` is whole local days, which may have 23 or 25 hours. Otherwise it is exactly as
    /// long.
    func period(before period: Range<Date>) -> Range<Date> {
        let (first, end) = (period.lowerBound, period.upperBound)
        let days = day(of: end) - day(of: first)
        guard start(ofDay: day(of: first)) == first, start(ofDay: day(of: end)) == end else {
            return first.addingTimeInterval(first.timeIntervalSince(end))..<first
        }
        return start(ofDay: day(of: first) - days)..<first
    }

    // MARK: Local days, numbered from 1970-01-01

    private func day(of date: Date) -> Int {
        (Self.seconds(date) + calendar.timeZone.secondsFromGMT(for: date)).floorDivided(by: Self.day)
    }

    /// Where clocks skip midnight, the first time after it.
    private func start(ofDay number: Int) -> Date {
        let noon = Date(timeIntervalSince1970: Double(number * Self.day + Self.day / 2))
        return calendar.startOfDay(for: noon.addingTimeInterval(-Double(calendar.timeZone.secondsFromGMT(for: noon))))
    }

    /// Seconds by which the hours of the zone begin before those of UTC.
    private func offsetWithinHour(at date: Date) -> Int {
        let offset = calendar.timeZone.secondsFromGMT(for: date)
        return offset - offset.floorDivided(by: Self.hour) * Self.hour
    }

    private static func seconds(_ date: Date) -> Int { Int(date.timeIntervalSince1970.rounded(.down)) }
}
