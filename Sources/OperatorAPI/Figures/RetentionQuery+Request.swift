import CoachCore
import Foundation
import GatewayAPI
import HTTPEdge
import Hummingbird
import JSON

extension RetentionQuery {
    /// The values of `week`; a period has fewer.
    private static let weeks = 0...1_000

    static let parameters: [RouteParameter] = [
        .init("cohort", in: .query, .text.described("those of one row's `cohort`: a date (UTC) or RFC 3339")),
        .init("week", in: .query, .integer(weeks).described("those of one row's `week`")),
    ]

    /// Reads the period, which grows to whole days as that of the figure does, `cohort` and `week`.
    init(_ request: Request, now: Date) throws(GatewayError) {
        let text = request.uri.queryParameters["cohort"].map(String.init)
        let cohort = text.flatMap(Self.time)
        guard text == nil || cohort != nil else {
            throw GatewayError(.invalidInput, "cohort must be a date or a time stamp (RFC 3339)").naming(field: "cohort")
        }
        let week = try request.integer("week", in: Self.weeks)
        self.init(period: try FigurePeriod(request, now: now).range.wholeUTCDays, cohort: cohort, week: week)
    }

    private static func time(_ text: String) -> Date? {
        if let day = CalendarDay(text) { return Date(timeIntervalSince1970: Double(day.unixSeconds)) }
        return Timestamp(rfc3339: text)?.date
    }
}
