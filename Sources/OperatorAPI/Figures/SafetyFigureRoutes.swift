import CoachCore
import Foundation
import GatewayAPI
import HTTPEdge
import Hummingbird
import JSON

/// `GET /api/v1/operator/safety/report`: counts of turns in which danger was found, in a year. They lead to no turn and no user.
public struct SafetyFigureRoutes: Feature {
    private let reports: SafetyReports
    private let now: @Sendable () -> Date

    public init(reports: SafetyReports, now: @escaping @Sendable () -> Date = { Date() }) {
        self.reports = reports
        self.now = now
    }

    public func register(on routes: RouteTable) {
        let figures = routes.authenticated("Figures").require(.operator)
        figures.get(
            "/api/v1/operator/safety/report",
            .init(
                "Exact counts of a calendar year (UTC) by tier, category and jurisdiction, for a yearly report; the last year by default",
                parameters: [.init("year", in: .query, .integer(Self.years))], response: .list(SafetyReportResource.schema).figures)
        ) { request, context in
            // Counted when it is asked for, not read from the rollups.
            let asOf = now()
            let rows = try await reports.yearly(context.caller, try Self.year(request, now: asOf))
            return .list(
                request, context, Page(items: rows, nextCursor: nil), figures: FigureMeta(asOf: Timestamp(asOf)), SafetyReportResource.init)
        }
    }

    private static let years = 1970...9999

    private static func year(_ request: Request, now: Date) throws(GatewayError) -> Int {
        try request.integer("year", in: years) ?? CivilDate(daysSince1970: CalendarDay(containing: now).daysSinceEpoch).year - 1
    }
}

extension SafetyReportResource {
    fileprivate init(_ row: SafetyCount) {
        self.init(
            tier: row.tier.rawValue, category: row.category?.rawValue, jurisdiction: row.jurisdiction, referrals: row.referrals,
            replaced: row.replaced)
    }
}
