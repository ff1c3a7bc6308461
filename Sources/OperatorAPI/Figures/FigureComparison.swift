import CoachCore
import Foundation
import JSON

/// A figure beside the same figure of the period before: each measure has a column `previous_…` after it.
struct FigureComparison {
    let figure: Figure
    let query: FigureQuery
    /// Seconds from the period before to the period: its length, in whole buckets.
    private let distance: Double
    /// Seconds of a bucket.
    private let bucket: Double

    init(_ figure: Figure, _ query: FigureQuery) {
        self.figure = figure
        self.query = query
        let length = query.period.upperBound.timeIntervalSince(query.period.lowerBound)
        bucket =
            switch query.grain {
            // Cohorts are of a week.
            case _ where figure.columns.contains(where: { $0.isKey && $0.name == "cohort" }): 7 * 86_400
            case _ where !query.groups.contains("day"): 1
            case .hour: 3_600
            case .day: 86_400
            case .week: 7 * 86_400
            }
        // A period of whole days has an hour more when clocks are turned back in it.
        let turnedBack: Double = bucket >= 86_400 && query.timeZone != "UTC" ? 3_600 : 0
        distance = max(1, ((length - turnedBack) / bucket).rounded(.up)) * bucket
    }

    /// The query of the rows that those of `table` are compared with: of the whole period before, or, when `table` is a page of figures by user, of the
    /// page's users and days only.
    func previous(of table: FigureTable) -> FigureQuery {
        var previous = query
        var period = query.period
        if isPage(table), let user = figure.columns.firstIndex(where: { $0.name == "user_id" }), query.groups.contains("user") {
            previous.users = Set(table.rows.map { if case .text(let id) = $0[user] { id } else { nil } })
            if let day = figure.columns.firstIndex(where: { $0.kind == .time }), query.groups.contains("day"),
                case .time(let first) = table.rows.first?[day], case .time(let last) = table.rows.last?[day]
            {
                // Users' days are those of UTC.
                period = max(period.lowerBound, first.date)..<min(period.upperBound, last.date.addingTimeInterval(bucket))
            }
        }
        previous.period = moved(period.lowerBound, by: -distance)..<moved(period.upperBound, by: -distance)
        previous.limit = FigureRoutes.longestTable
        previous.cursor = nil
        return previous
    }

    /// Whether there are rows before or after the table.
    private func isPage(_ table: FigureTable) -> Bool { query.cursor != nil || table.nextCursor != nil }

    static func columns(of figure: Figure) -> [FigureColumn] {
        figure.columns.flatMap { column in
            guard !column.isKey else { return [column] }
            var previous = column
            previous.name = "previous_" + column.name
            previous.isNullable = true
            return [column, previous]
        }
    }

    /// The rows of `table` with the measures of those with the same keys in `former`; null where there is none. On the last page also the rows that
    /// only `former` has, without measures of their own, when no page came before.
    func rows(_ table: FigureTable, _ former: FigureTable) -> [[FigureValue]] {
        let keys = figure.columns.indices.filter { figure.columns[$0].isKey }
        var measures = Dictionary(
            former.rows.map { row in (keys.map { moved(row[$0]) }, row) }, uniquingKeysWith: { first, _ in first })
        var rows = table.rows.map { row in merged(row, measures.removeValue(forKey: keys.map { row[$0] })) }
        if !isPage(table) {
            for row in former.rows {
                guard let row = measures.removeValue(forKey: keys.map { moved(row[$0]) }) else { continue }
                rows.append(
                    figure.columns.enumerated().flatMap { index, column -> [FigureValue] in
                        column.isKey ? [moved(row[index])] : [column.withoutRow, row[index]]
                    })
            }
        }
        return rows
    }

    private func merged(_ row: [FigureValue], _ former: [FigureValue]?) -> [FigureValue] {
        figure.columns.enumerated().flatMap { index, column in
            column.isKey ? [row[index]] : [row[index], former?[index] ?? (column.kind == .count ? .few : .null)]
        }
    }

    /// A key of the period before as one of the period.
    private func moved(_ key: FigureValue) -> FigureValue {
        guard case .time(let time) = key else { return key }
        return .time(Timestamp(moved(time.date, by: distance)))
    }

    /// A time so many seconds later; whole days and weeks later by the calendar of the figure's time zone, in which a day may have 23 hours.
    private func moved(_ date: Date, by seconds: Double) -> Date {
        guard bucket >= 86_400, let zone = TimeZone(identifier: query.timeZone) else { return date.addingTimeInterval(seconds) }
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = zone
        return calendar.date(byAdding: .day, value: Int(seconds / 86_400), to: date) ?? date.addingTimeInterval(seconds)
    }
}

extension FigureColumn {
    /// The measure of a group that has no row.
    fileprivate var withoutRow: FigureValue {
        switch kind {
        case .count: .few
        case .integer where !isNullable: .integer(0)
        default: .null
        }
    }
}
