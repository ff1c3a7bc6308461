import CoachCore
import Foundation
import GatewayAPI
import JSON
import Testing

@testable import OperatorAPI

@Suite("Comparison of figures with the period before")
struct FigureComparisonTests {
    private static func time(_ text: String) throws -> Timestamp { try #require(Timestamp(rfc3339: text)) }

    private static func comparison(
        _ path: String, _ groups: [String], _ from: String, _ to: String, _ timeZone: String = "UTC", grain: FigureQuery.Grain = .day
    ) throws -> FigureComparison {
        let figure = try #require(Figure.all.first { $0.path == path })
        let period = try time(from).date..<time(to).date
        return FigureComparison(figure, FigureQuery(period: period, groups: groups, grain: grain, timeZone: timeZone))
    }

    /// The period before.
    private static func previous(_ comparison: FigureComparison) -> [String] {
        let period = comparison.previous(of: FigureTable(rows: [])).period
        return [period.lowerBound, period.upperBound].map { String(Timestamp($0).rfc3339.prefix(16)) }
    }

    /// Days of the merged rows, each with its turns and those before, of rows of costs with the number of their place as turns.
    private static func merged(_ comparison: FigureComparison, _ days: [String], _ daysBefore: [String]) throws -> [String] {
        func table(_ days: [String]) throws -> FigureTable {
            FigureTable(
                rows: try days.enumerated().map { index, day in
                    let time = try Self.time(day)
                    return comparison.figure.columns.map { column -> FigureValue in
                        if column.kind == .time { return .time(time) }
                        return column.name == "turns" ? .integer(Int64(index + 1)) : .null
                    }
                })
        }
        let columns = FigureComparison.columns(of: comparison.figure)
        let turns = try #require(columns.firstIndex { $0.name == "turns" })
        return try comparison.rows(table(days), table(daysBefore)).map { row in
            guard case .time(let day) = row[0] else { return "no day" }
            let numbers = row[turns...(turns + 1)].map { if case .integer(let number) = $0 { "\(number)" } else { "-" } }
            return "\(day.rfc3339.prefix(16)) \(numbers.joined(separator: " "))"
        }
    }

    @Test("of cohorts is whole weeks earlier, and shares no cohort")
    func cohorts() throws {
        let month = try Self.comparison("usage/retention", [], "2026-03-02T00:00:00Z", "2026-04-02T00:00:00Z")
        #expect(Self.previous(month) == ["2026-01-26T00:00", "2026-03-02T00:00"])
        let fromWednesday = try Self.comparison("usage/retention", [], "2026-03-04T00:00:00Z", "2026-04-02T00:00:00Z")
        #expect(Self.previous(fromWednesday) == ["2026-01-26T00:00", "2026-03-02T00:00"])
    }

    /// A row of a day, with a value of each kind.
    private static func row(_ figure: Figure, on day: String) throws -> [FigureValue] {
        let time = try Self.time(day)
        return figure.columns.map { column -> FigureValue in
            switch column.kind {
            case .time: .time(time)
            case .id, .text, .domain: .text("a")
            case .integer, .count: .integer(7)
            case .number, .measured: .number("0.5")
            case .money: .money(Nanodollars(7))
            case .flag: .flag(true)
            }
        }
    }

    @Test("adds rows that only the period before has, with null in no column that the schema does not allow; of cohorts none")
    func onlyBefore() throws {
        for figure in Figure.all {
            let comparison = try Self.comparison(figure.path, figure.groups, "2026-03-09T00:00:00Z", "2026-03-16T00:00:00Z")
            let former = FigureTable(rows: [try Self.row(figure, on: "2026-03-02T00:00:00Z")])
            let rows = comparison.rows(FigureTable(rows: []), former)
            #expect(rows.count == (figure.path == "usage/retention" ? 0 : 1), "\(figure.path)")
            for row in rows {
                for (column, value) in zip(FigureComparison.columns(of: figure), row) where value == .null {
                    #expect(column.isNullable, "\(column.name) of \(figure.path)")
                }
            }
        }
    }

    @Test("has members that the schema of each figure declares, and does not require")
    func schemas() throws {
        for figure in Figure.all {
            guard case .named(_, let schema) = figure.comparedSchema.form, case .object(let fields) = schema.form else {
                Issue.record("\(figure.path) is no object")
                continue
            }
            #expect(Set(fields.map(\.name)) == Set(FigureComparison.columns(of: figure).map(\.name)))
            for field in fields {
                let isPrevious = field.name.hasPrefix("previous_")
                #expect(field.isRequired != isPrevious && (field.schema.isNullable || !isPrevious), "\(field.name) of \(figure.path)")
            }
        }
    }

    @Test("of whole local days is as many days before, also where a clock is turned")
    func turnedClocks() throws {
        for (from, to, zone, start) in [
            ("2026-03-31T22:00:00Z", "2026-04-30T22:00:00Z", "Europe/Berlin", "2026-03-01T23:00"),
            ("2026-09-30T22:00:00Z", "2026-10-31T23:00:00Z", "Europe/Berlin", "2026-08-30T22:00"),
            // 25 hours, and the 24 after them.
            ("2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z", "Europe/Berlin", "2026-10-23T22:00"),
            ("2026-10-25T23:00:00Z", "2026-10-26T23:00:00Z", "Europe/Berlin", "2026-10-24T22:00"),
            ("2026-11-02T05:00:00Z", "2026-11-03T05:00:00Z", "America/New_York", "2026-11-01T04:00"),
        ] {
            for (groups, grain) in [([], .day), (["day"], .day), (["day"], .hour), (["day"], .week)] as [([String], FigureQuery.Grain)] {
                let found = Self.previous(try Self.comparison("costs", groups, from, to, zone, grain: grain))
                #expect(found == [start, String(from.prefix(16))], "\(from) \(grain)")
            }
        }
    }

    @Test("of other periods is exactly as long and directly before")
    func lengths() throws {
        for (from, to, zone, start) in [
            ("2026-10-26T00:00:00Z", "2026-10-27T01:00:00Z", "UTC", "2026-10-24T23:00"),
            ("2026-10-26T00:00:00Z", "2026-10-27T01:00:00Z", "Asia/Kolkata", "2026-10-24T23:00"),
            ("2026-10-25T00:00:00Z", "2026-10-25T03:00:00Z", "Europe/Berlin", "2026-10-24T21:00"),
            ("2026-11-01T05:00:00Z", "2026-11-01T08:00:00Z", "America/New_York", "2026-11-01T02:00"),
            ("2026-10-25T12:15:00Z", "2026-10-25T13:00:00Z", "UTC", "2026-10-25T11:30"),
        ] {
            for grain in [FigureQuery.Grain.hour, .day, .week] {
                let found = Self.previous(try Self.comparison("costs", ["day"], from, to, zone, grain: grain))
                #expect(found == [start, String(from.prefix(16))], "\(from) \(zone) \(grain)")
            }
        }
    }

    @Test("puts the measures of a bucket beside those of the one with the same place, and keeps one beyond the last")
    func places() throws {
        let utc = try Self.comparison("costs", ["day"], "2026-10-26T00:00:00Z", "2026-10-27T01:00:00Z")
        #expect(
            try Self.merged(utc, ["2026-10-26T00:00:00Z", "2026-10-27T00:00:00Z"], ["2026-10-24T00:00:00Z", "2026-10-25T00:00:00Z"])
                == ["2026-10-26T00:00 1 1", "2026-10-27T00:00 2 2"])
        // From 05:30 on 26 October to 06:30 on the next day, and from 04:30 on 25 October.
        let kolkata = try Self.comparison("costs", ["day"], "2026-10-26T00:00:00Z", "2026-10-27T01:00:00Z", "Asia/Kolkata")
        #expect(
            try Self.merged(kolkata, ["2026-10-26T18:30:00Z"], ["2026-10-24T18:30:00Z", "2026-10-25T18:30:00Z"])
                == ["2026-10-26T18:30 1 2", "2026-10-25T18:30 0 1"])
        let berlin = try Self.comparison(
            "costs", ["day"], "2026-10-25T00:00:00Z", "2026-10-25T03:00:00Z", "Europe/Berlin", grain: .hour)
        #expect(
            try Self.merged(
                berlin, ["2026-10-25T00:00:00Z", "2026-10-25T01:00:00Z", "2026-10-25T02:00:00Z"],
                ["2026-10-24T21:00:00Z", "2026-10-24T22:00:00Z", "2026-10-24T23:00:00Z"])
                == ["2026-10-25T00:00 1 1", "2026-10-25T01:00 2 2", "2026-10-25T02:00 3 3"])
        let newYork = try Self.comparison("costs", ["day"], "2026-11-01T05:00:00Z", "2026-11-01T08:00:00Z", "America/New_York")
        #expect(
            try Self.merged(newYork, ["2026-11-01T04:00:00Z"], ["2026-10-31T04:00:00Z", "2026-11-01T04:00:00Z"])
                == ["2026-11-01T04:00 1 1", "2026-11-02T05:00 0 2"])
        // A day of 23 hours after one of 24, by hours.
        let spring = try Self.comparison(
            "costs", ["day"], "2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z", "Europe/Berlin", grain: .hour)
        #expect(try Self.merged(spring, [], ["2026-03-28T22:00:00Z"]) == ["2026-03-29T22:00 0 1"])
    }
}
