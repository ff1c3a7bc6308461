import CoachCore
import Foundation
import GatewayAPI
import HTTPEdge
import Hummingbird
import JSON

extension FigureQuery {
    /// Reads `from`, `to`, `group_by`, `grain`, `tz`, `limit` and `cursor`. When a figure is kept by UTC days, its period grows to whole days. When it
    /// counts whole weeks, its period grows with `grain=week` to weeks from Monday.
    init(_ request: Request, _ figure: Figure, now: Date) throws {
        let query = request.uri.queryParameters
        let period = try FigurePeriod(request, now: now).range
        let names = query["group_by"].map { Array(Set($0.split(separator: ",").map(String.init))).sorted() } ?? figure.defaultGroups
        guard names.allSatisfy(figure.groups.contains) else {
            throw GatewayError(.invalidInput, "group_by has an unknown group").naming(field: "group_by")
        }
        guard let grain = Grain(rawValue: query["grain"].map(String.init) ?? Grain.day.rawValue) else {
            throw GatewayError(.invalidInput, "grain must be hour, day or week").naming(field: "grain")
        }
        let zone = query["tz"].map(String.init) ?? "UTC"
        guard TimeZone.isIANA(zone) else { throw InvalidFigureQuery() }
        let isByDays = figure.needsUTCDays(names)
        if isByDays, !TimeZone.isUTC(zone) { throw GatewayError(.invalidInput, "this figure is by UTC days").naming(field: "tz") }
        if isByDays, grain == .hour, names.contains("day") || figure.countsWholeWeeks {
            throw GatewayError(.invalidInput, "this figure is by UTC days").naming(field: "grain")
        }
        let limit = try request.integer("limit", in: 1...FigureRoutes.longestTable) ?? FigureRoutes.usualTable
        let whole = grain == .week && figure.countsWholeWeeks ? period.wholeUTCWeeks : period.wholeUTCDays
        self.init(
            period: isByDays ? whole : period, groups: names, grain: grain, timeZone: TimeZone.isUTC(zone) ? "UTC" : zone, limit: limit,
            cursor: try request.cursor)
    }

    /// The address of the list of calls or users behind the figure, for the same period; nil without one.
    func trace(of figure: Figure) -> String? {
        guard let list = figure.traceList else { return nil }
        let period = "from=\(Timestamp(period.lowerBound).rfc3339)&to=\(Timestamp(period.upperBound).rfc3339)"
        let filter = figure.traceFilter.sorted { $0.key < $1.key }.map { "&\($0.key)=\($0.value)" }.joined()
        return "/api/v1/operator/\(list)?" + period + filter
    }
}

extension Request {
    /// Reads `compare`.
    func comparesWithPrevious() throws(GatewayError) -> Bool {
        guard let value = uri.queryParameters["compare"] else { return false }
        guard value == "previous" else { throw GatewayError(.invalidInput, "compare must be previous").naming(field: "compare") }
        return true
    }
}

extension Figure {
    /// Filters of the list of calls: the keys of costs but the time, the error code, and whether a call counts as an error.
    static let traceKeys: [FigureColumn] =
        costs.columns.filter { $0.isKey && $0.kind != .time } + [.key("error_code"), .key("error", .flag, isNullable: false)]
}

extension CallQuery {
    /// Reads the period and the keys; a key with an empty value means calls without one.
    init(_ request: Request, now: Date) throws(GatewayError) {
        let query = request.uri.queryParameters
        var filter: [String: String?] = [:]
        for column in Figure.traceKeys {
            guard let value = query[Substring(column.name)].map(String.init) else { continue }
            guard Self.isValue(value, of: column) else {
                throw GatewayError(.invalidInput, "\(column.name) is not one").naming(field: column.name)
            }
            filter[column.name] = .some(value.isEmpty ? nil : value)
        }
        self.init(period: try FigurePeriod(request, now: now).range, filter: filter)
    }

    private static func isValue(_ text: String, of column: FigureColumn) -> Bool {
        switch column.kind {
        case .flag: Bool(text) != nil
        case .id: text.isEmpty || UUID(canonical: text) != nil
        case .domain: text.isEmpty || Domain(rawValue: text) != nil
        default: true
        }
    }
}
