import CoachCore
import Foundation
import JSON

/// A figure beside the same figure of the period before: each measure has a column `previous_…` after it.
struct FigureComparison {
    let figure: Figure
    let query: FigureQuery
    private let isOfCohorts: Bool
    private let buckets: FigureBuckets
    /// The period that the figure counts: cohorts are of whole weeks.
    private let period: Range<Date>
    /// The one before.
    private let former: Range<Date>

    init(_ figure: Figure, _ query: FigureQuery) {
        self.figure = figure
        self.query = query
        isOfCohorts = figure.columns.contains { $0.isKey && $0.name == "cohort" }
        buckets = FigureBuckets(isOfCohorts ? .week : query.grain, timeZone: query.timeZone)
        period = isOfCohorts ? query.period.wholeUTCWeeks : query.period
        former = buckets.period(before: period)
    }

    /// The query of the rows that the rows of `table` are compared with. They are of the whole period before. When `table` is a page of figures by user,
    /// they are of the page's users and days only.
    func previous(of table: FigureTable) -> FigureQuery {
        var previous = query
        previous.period = former
        if isPage(table), let user = figure.columns.firstIndex(where: { $0.name == "user_id" }), query.groups.contains("user") {
            previous.users = Set(table.rows.map { if case .text(let id) = $0[user] { id } else { nil } })
            if let day = figure.columns.firstIndex(where: { $0.kind == .time }), query.groups.contains("day"),
                case .time(let first) = table.rows.first?[day], case .time(let last) = table.rows.last?[day]
            {
                let page = counterpart(of: first)..<counterpart(of: last, advancedBy: 1)
                if page.overlaps(former) { previous.period = page.clamped(to: former) }
            }
        }
        previous.limit = FigureRoutes.longestTable
        previous.cursor = nil
        return previous
    }

    /// The beginning of the bucket that has the same place in the period before.
    private func counterpart(of time: Timestamp, advancedBy buckets: Int = 0) -> Date {
        self.buckets.start(of: self.buckets.number(of: former.lowerBound) + place(of: time, in: period) + buckets)
    }

    /// Whether there are rows before or after the table.
    private func isPage(_ table: FigureTable) -> Bool { query.cursor != nil || table.nextCursor != nil }

    static func columns(of figure: Figure) -> [FigureColumn] {
        figure.columns.flatMap { column in column.isKey ? [column] : [column, column.previous] }
    }

    /// The rows of `table`, each with the measures of its row in `former`: the one with the same keys, and a bucket with the same place in the period
    /// before; null where there is none. If `table` is the only page, also the rows that only `former` has, without measures of their own; but of cohorts
    /// none, as their weeks may not have happened yet.
    func rows(_ table: FigureTable, _ former: FigureTable) -> [[FigureValue]] {
        var measures = Dictionary(
            former.rows.map { (keys(of: $0, in: self.former), $0) }, uniquingKeysWith: { first, _ in first })
        var rows = table.rows.map { row in merged(row, measures.removeValue(forKey: keys(of: row, in: period))) }
        if !isPage(table), !isOfCohorts {
            for row in former.rows {
                guard let row = measures.removeValue(forKey: keys(of: row, in: self.former)) else { continue }
                rows.append(
                    figure.columns.enumerated().flatMap { index, column -> [FigureValue] in
                        column.isKey ? [moved(row[index])] : [column.withoutRow, row[index]]
                    })
            }
        }
        return rows
    }

    /// The keys of a row, with the place of its bucket instead of its time.
    private func keys(of row: [FigureValue], in period: Range<Date>) -> [FigureValue] {
        zip(figure.columns, row).filter { $0.0.isKey }.map { _, value -> FigureValue in
            guard case .time(let time) = value else { return value }
            return .integer(Int64(place(of: time, in: period)))
        }
    }

    private func place(of time: Timestamp, in period: Range<Date>) -> Int {
        buckets.number(of: time.date) - buckets.number(of: period.lowerBound)
    }

    private func merged(_ row: [FigureValue], _ former: [FigureValue]?) -> [FigureValue] {
        figure.columns.enumerated().flatMap { index, column in
            column.isKey ? [row[index]] : [row[index], former?[index] ?? (column.kind == .count ? .few : .null)]
        }
    }

    /// A key of the period before as one of the period.
    private func moved(_ key: FigureValue) -> FigureValue {
        guard case .time(let time) = key else { return key }
        return .time(Timestamp(buckets.start(of: buckets.number(of: period.lowerBound) + place(of: time, in: former))))
    }
}

extension FigureColumn {
    /// The measure in the period before.
    var previous: FigureColumn {
        var previous = self
        previous.name = "previous_" + name
        previous.isNullable = true
        return previous
    }

    /// The measure of a group that has no row.
    fileprivate var withoutRow: FigureValue {
        switch kind {
        case .count: .few
        case .integer where !isNullable: .integer(0)
        case .money where !isNullable: .money(Nanodollars(0))
        default: .null
        }
    }
}
