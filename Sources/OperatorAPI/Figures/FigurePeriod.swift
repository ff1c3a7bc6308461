import CoachCore
import Foundation
import GatewayAPI
import HTTPEdge
import Hummingbird
import JSON

/// The period of figures: `from` and `to`, dates (UTC, both included) or time stamps (RFC 3339, rounded outwards to quarters of an hour, `to` not
/// included); by default the last 30 days and today.
struct FigurePeriod {
    private static let day = 86_400.0
    private static let quarter = 900.0
    /// Days before the last one in the default period.
    private static let daysBefore = 30
    /// The longest period, in seconds: the database would not answer for a longer one in time.
    private static let longest = 367 * day

    static let parameters: [RouteParameter] = [
        .init("from", in: .query, .text.described("a date (UTC) or RFC 3339; at most \(Int(longest / day)) days before `to`")),
        .init("to", in: .query, .text.described("a date (UTC, included) or RFC 3339 (not included)")),
    ]

    let range: Range<Date>

    init(_ request: Request, now: Date) throws(GatewayError) {
        let query = request.uri.queryParameters
        let end =
            try Self.instant(query["to"], "to", dates: Self.day, rounding: .up)
            ?? ((now.timeIntervalSince1970 / Self.day).rounded(.down) + 1) * Self.day
        let lastDay = ((end - 1) / Self.day).rounded(.down)
        let start = try Self.instant(query["from"], "from", dates: 0, rounding: .down) ?? (lastDay - Double(Self.daysBefore)) * Self.day
        guard start >= 0, start < end, end - start <= Self.longest else {
            throw GatewayError(.invalidInput, "from must be 1970 or later and before to, by at most \(Int(Self.longest / Self.day)) days")
                .naming(field: "from")
        }
        range = Date(timeIntervalSince1970: start)..<Date(timeIntervalSince1970: end)
    }

    /// Seconds since 1970. `dates`: what is added to the beginning of a day.
    private static func instant(
        _ text: Substring?, _ name: String, dates: Double, rounding: FloatingPointRoundingRule
    ) throws(GatewayError) -> Double? {
        guard let text = text.map(String.init) else { return nil }
        if let date = CalendarDay(text) { return Double(date.unixSeconds) + dates }
        guard let time = Timestamp(rfc3339: text) else {
            throw GatewayError(.invalidInput, "\(name) must be a date or a time stamp (RFC 3339)").naming(field: name)
        }
        return (Double(time.millisecondsSince1970) / 1000 / quarter).rounded(rounding) * quarter
    }
}

extension Range<Date> {
    /// The UTC days that it touches.
    var wholeUTCDays: Range<Date> { whole(86_400, from: 0) }

    /// The weeks, from Monday UTC, that it touches.
    var wholeUTCWeeks: Range<Date> { whole(7 * 86_400, from: 4 * 86_400) }

    /// The buckets that it touches. `first`: the start of one, in seconds since 1970.
    private func whole(_ length: Double, from first: Double) -> Range<Date> {
        let start = ((lowerBound.timeIntervalSince1970 - first) / length).rounded(.down) * length + first
        let end = ((upperBound.timeIntervalSince1970 - first) / length).rounded(.up) * length + first
        return Date(timeIntervalSince1970: start)..<Date(timeIntervalSince1970: end)
    }
}
