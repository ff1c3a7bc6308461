import CoachCore
import Foundation
import JSON
import Testing

@testable import OperatorAPI

@Suite("Comparison of figures with the period before")
struct FigureComparisonTests {
    private func previous(_ path: String, _ groups: [String], from: String, to: String, timeZone: String = "UTC") throws -> [String] {
        let figure = try #require(Figure.all.first { $0.path == path })
        let (start, end) = (try #require(Timestamp(rfc3339: from)), try #require(Timestamp(rfc3339: to)))
        let query = FigureQuery(period: start.date..<end.date, groups: groups, grain: .day, timeZone: timeZone)
        let period = FigureComparison(figure, query).previous(of: FigureTable(rows: [])).period
        return [period.lowerBound, period.upperBound].map { String(Timestamp($0).rfc3339.prefix(13)) }
    }

    @Test("of cohorts is whole weeks earlier, so that Mondays meet Mondays")
    func cohorts() throws {
        let found = try previous("usage/retention", [], from: "2026-03-02T00:00:00Z", to: "2026-04-02T00:00:00Z")
        #expect(found == ["2026-01-26T00", "2026-02-26T00"])
    }

    @Test("by days begins and ends at midnight, also where a clock is turned in between")
    func turnedClocks() throws {
        let spring = try previous(
            "costs", ["day"], from: "2026-03-31T22:00:00Z", to: "2026-04-30T22:00:00Z", timeZone: "Europe/Berlin")
        #expect(spring == ["2026-03-01T23", "2026-03-31T22"])
        let autumn = try previous(
            "costs", ["day"], from: "2026-09-30T22:00:00Z", to: "2026-10-31T23:00:00Z", timeZone: "Europe/Berlin")
        #expect(autumn == ["2026-08-30T22", "2026-09-30T22"])
    }
}
