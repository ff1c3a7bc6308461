/// A date of the proleptic Gregorian calendar (Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms").
public struct CivilDate: Equatable, Sendable {
    public let year: Int
    public let month: Int
    public let day: Int

    /// nil for a date that does not exist.
    public init?(year: Int, month: Int, day: Int) {
        guard (1...12).contains(month), day >= 1, day <= Self.daysIn(month: month, year: year) else { return nil }
        self.year = year
        self.month = month
        self.day = day
    }

    public init(daysSince1970: Int) {
        // Years begin in March here, so that the leap day is the last day of its year. An era is 400 years.
        let shifted = daysSince1970 + 719_468
        let era = shifted.floorDivided(by: 146_097)
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    }

    public var daysSince1970: Int {
        let shiftedYear = month <= 2 ? year - 1 : year
        let era = shiftedYear.floorDivided(by: 400)
        let yearOfEra = shiftedYear - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    private static func daysIn(month: Int, year: Int) -> Int {
        let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        return switch month {
        case 2: isLeap ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}

extension CivilDate: CustomStringConvertible {
    /// Parses `2026-03-01`; nil for any other text and for a date that does not exist.
    public init?(_ text: String) {
        var reader = DigitReader(bytes: Array(text.utf8)[...])
        guard let date = reader.date(), reader.isAtEnd else { return nil }
        self = date
    }

    /// `2026-03-01`.
    public var description: String { String(Timestamp(millisecondsSince1970: Int64(daysSince1970) * 86_400_000).rfc3339.prefix(10)) }
}

extension FixedWidthInteger {
    /// Division by a positive number that rounds towards minus infinity.
    package func floorDivided(by divisor: Self) -> Self {
        self / divisor - (self % divisor < 0 ? 1 : 0)
    }
}
