import CoachCore
import CoachStore
import Foundation
import PostgresClient
import Testing

/// The days that tests of figures ask for.
enum FigureSample {
    static let today = Date(timeIntervalSince1970: (Date().timeIntervalSince1970 / 86_400).rounded(.down) * 86_400)
    /// With the days before and after, whenever the test runs.
    static let period = today.addingTimeInterval(-86_400)..<today.addingTimeInterval(2 * 86_400)

    static func query(_ groups: [String], _ grain: FigureQuery.Grain = .day, tz: String = "UTC", limit: Int = 100) -> FigureQuery {
        FigureQuery(period: period, groups: groups, grain: grain, timeZone: tz, limit: limit)
    }
}

extension Figures {
    /// All calls of a filter, page by page.
    func allCalls(_ caller: Caller, _ filter: [String: String?], _ columns: [String], limit: Int = 100) async throws -> [[String]] {
        var rows: [[String]] = []
        var cursor: String?
        repeat {
            let table = try await calls(
                caller, CallQuery(period: FigureSample.period, filter: filter), PageRequest(limit: limit, cursor: cursor))
            #expect(table.rows.count <= limit && table.asOf != nil)
            rows += table.texts(.calls, columns)
            cursor = table.nextCursor
        } while cursor != nil
        return rows
    }
}

extension StoreFixture {
    /// Moves a turn's rows in the ledger.
    func move(_ turn: TurnIdentity, to time: Date) async throws {
        let epoch = time.timeIntervalSince1970
        try await rewriteLedger(
            """
            update public.usage_logs
            set booked_at = to_timestamp(\(epoch)::double precision), day = (to_timestamp(\(epoch)::double precision) at time zone 'UTC')::date
            where turn_id = \(turn.turnID.uuid)
            """)
    }
}
