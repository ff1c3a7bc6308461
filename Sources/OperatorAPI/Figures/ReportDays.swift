import CoachCore
import Foundation
import GatewayAPI
import HTTPEdge
import Hummingbird
import JSON

/// The days of a report: `from` and `to`, both included; the last 30 days by default. It is made by UTC days, and has no period to compare with.
struct ReportDays {
    /// Days of the default period.
    private static let period = 30
    /// Of a longer one the database would not answer in time.
    private static let longestPeriod = 366

    static let parameters: [RouteParameter] = [
        .init("from", in: .query, .text.described("a date (UTC) or RFC 3339, of which the day counts")),
        .init("to", in: .query, .text.described("the same; included")),
        .init("grain", in: .query, .values(["day"])),
        .init("tz", in: .query, .values(["UTC"])),
    ]

    let first: CalendarDay
    let last: CalendarDay

    init(_ request: Request, now: Date) throws(GatewayError) {
        let query = request.uri.queryParameters
        for (name, only) in [("grain", "day"), ("tz", "UTC")] where query[Substring(name)].map({ $0 != only }) ?? false {
            throw GatewayError(.invalidInput, "this report is by UTC days").naming(field: name)
        }
        if query["compare"] != nil {
            throw GatewayError(.invalidInput, "this report has no comparison").naming(field: "compare")
        }
        last = try Self.day(query["to"], "to") ?? CalendarDay(unixSeconds: Int(now.timeIntervalSince1970))
        first = try Self.day(query["from"], "from") ?? CalendarDay(daysSinceEpoch: last.daysSinceEpoch - Self.period)
        guard first.daysSinceEpoch >= 0, first <= last, last.daysSinceEpoch - first.daysSinceEpoch <= Self.longestPeriod else {
            throw GatewayError(.invalidInput, "from must be 1970 or later and before to, by at most \(Self.longestPeriod) days").naming(
                field: "from")
        }
    }

    private static func day(_ text: Substring?, _ name: String) throws(GatewayError) -> CalendarDay? {
        guard let text = text.map(String.init) else { return nil }
        if let day = CalendarDay(text) { return day }
        guard let time = Timestamp(rfc3339: text) else {
            throw GatewayError(.invalidInput, "\(name) must be a date or a time stamp (RFC 3339)").naming(field: name)
        }
        return CalendarDay(unixSeconds: Int(time.date.timeIntervalSince1970.rounded(.down)))
    }
}
