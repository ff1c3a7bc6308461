import CoachCore
import Foundation
import Synchronization
import Testing

@testable import CoachStore

@Suite struct SharedFiguresTests {
    private let operators = (0..<2).map { _ in Caller(userID: UserID(UUID()), role: .operator, claims: "{}", expiresAt: .distantFuture) }

    @Test("operators share a table until something was folded")
    func sharing() async throws {
        let asOf = Mutex(Date(timeIntervalSince1970: 0))
        let reads = Mutex<[String]>([])
        let live = LiveFigures(
            state: { FigureState(asOf: asOf.withLock { $0 }, alertsChangedAt: nil) }, authorize: { _ in })
        let empty = FigureTable(rows: [])
        let figures = Figures(
            table: { _, figure, _ in
                reads.withLock { $0.append(figure.path) }
                return FigureTable(asOf: asOf.withLock { $0 }, rows: [])
            }, calls: { _, _, _ in empty }, retentionUsers: { _, _, _ in empty }, reports: { _, _ in empty },
            alerts: { _, _, _ in empty }, health: { _ in empty }, measures: { _ in empty }
        ).shared(following: live)
        var query = FigureQuery(period: Date.distantPast..<Date.distantFuture, groups: [], grain: .day)
        for caller in operators { _ = try await figures.table(caller, .costs, query) }
        #expect(reads.withLock { $0 } == ["costs"])

        query.timeZone = "Asia/Kolkata"
        for caller in operators { _ = try await figures.table(caller, .costs, query) }
        _ = try await figures.table(operators[0], .safety, query)
        #expect(reads.withLock { $0 } == ["costs", "costs", "safety"])

        let later = Date(timeIntervalSince1970: 2)
        asOf.withLock { $0 = later }
        for caller in operators { #expect(try await figures.table(caller, .costs, query).asOf == later) }
        #expect(reads.withLock { $0 } == ["costs", "costs", "safety", "costs"])
    }
}
