import CoachCore
import Foundation
import GatewayAPI
import HTTPEdge
import Hummingbird
import JSON

/// `GET /api/v1/operator/costs`: tokens and cost by group, as JSON, CSV or JSON Lines.
public struct CostRoutes: Feature {
    private let reports: CostReports
    private let now: @Sendable () -> Date

    public init(reports: CostReports, now: @escaping @Sendable () -> Date = { Date() }) {
        self.reports = reports
        self.now = now
    }

    public func register(on routes: RouteTable) {
        routes.authenticated("Figures").require(.operator).get(
            "/api/v1/operator/costs",
            .init(
                "Tokens and cost of all users by group; the last 30 days by default",
                parameters: ReportDays.parameters + [
                    .init(
                        "group_by", in: .query,
                        .text.described("any of \(CostQuery.Group.allCases.map(\.rawValue).joined(separator: ", ")), separated by commas")),
                    .init("grain", in: .query, .values(CostQuery.Grain.allCases.map(\.rawValue))),
                ], response: .list(CostResource.schema))
        ) { request, context in
            let rows = try await reports.costs(context.caller, try CostQuery(request, now: now()))
            return .list(request, context, Page(items: rows, nextCursor: nil), CostResource.init)
        }
    }
}

extension CostQuery {
    fileprivate init(_ request: Request, now: Date) throws(GatewayError) {
        let query = request.uri.queryParameters
        let days = try ReportDays(request, now: now)
        let names = (query["group_by"] ?? "").split(separator: ",").map(String.init)
        let groups = names.compactMap { Group(rawValue: $0) }
        guard groups.count == names.count else {
            throw GatewayError(.invalidInput, "group_by has an unknown group").naming(field: "group_by")
        }
        guard let grain = Grain(rawValue: query["grain"].map(String.init) ?? Grain.day.rawValue) else {
            throw GatewayError(.invalidInput, "grain must be hour, day or week").naming(field: "grain")
        }
        if let zone = query["tz"], zone != "UTC" { throw GatewayError(.invalidInput, "only UTC is supported").naming(field: "tz") }
        if query["compare"] != nil { throw GatewayError(.invalidInput, "comparisons are not supported").naming(field: "compare") }
        self.init(first: days.first, last: days.last, groups: groups, grain: grain)
    }
}

extension CostResource {
    fileprivate init(_ row: CostRow) {
        self.init(
            day: row.bucket.map { Timestamp($0) }, model: row.model, provider: row.provider, domain: row.domain?.rawValue,
            personaID: row.personaID?.uuid, userID: row.userID?.uuid, tier: row.tier, turns: row.turns, inputTokens: row.inputTokens,
            cachedInputTokens: row.cachedInputTokens, outputTokens: row.outputTokens,
            cost: row.cost.map { MoneyText.format(nanodollars: $0.raw) }, unpricedTurns: row.unpricedTurns)
    }
}
