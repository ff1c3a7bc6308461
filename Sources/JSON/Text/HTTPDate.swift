/// Dates of header fields, in the three forms of RFC 9110 §5.6.7.
enum HTTPDate {
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT` or `Sun Nov  6 08:49:37 1994`; nil for any other text. The day of the
    /// week is not checked. A year of two digits is the latest that is at most 50 years after `now`.
    static func parse(_ text: String, now: Timestamp) -> Timestamp? {
        let parts = text.split { " ,-".contains($0) }.map { String($0) }
        // Weekday, day, month, year, time, zone; or weekday, month, day, time, year.
        switch parts.count {
        case 6 where parts[5] == "GMT": return timestamp(day: parts[1], month: parts[2], year: parts[3], time: parts[4], now: now)
        case 5: return timestamp(day: parts[2], month: parts[1], year: parts[4], time: parts[3], now: now)
        default: return nil
        }
    }

    private static func timestamp(day: String, month: String, year: String, time: String, now: Timestamp) -> Timestamp? {
        let clock = time.split(separator: ":", omittingEmptySubsequences: false).map { number(String($0), digits: 2...2) }
        guard clock.count == 3, let hour = clock[0], let minute = clock[1], let second = clock[2], hour < 24, minute < 60, second <= 60,
            let day = number(day, digits: 1...2), let month = months.firstIndex(of: month),
            let year = year.utf8.count == 2 ? number(year, digits: 2...2).map({ century($0, now) }) : number(year, digits: 4...4),
            let date = CivilDate(year: year, month: month + 1, day: day)
        else { return nil }
        return Timestamp(
            millisecondsSince1970: Int64(date.daysSince1970 * 86_400 + hour * 3600 + minute * 60 + second) * 1000)
    }

    private static func century(_ year: Int, _ now: Timestamp) -> Int {
        let latest = CivilDate(daysSince1970: Int(now.millisecondsSince1970 / 86_400_000)).year + 50
        return latest - (latest - year) % 100
    }

    private static func number(_ text: String, digits: ClosedRange<Int>) -> Int? {
        digits.contains(text.utf8.count) && text.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int(text) : nil
    }
}
