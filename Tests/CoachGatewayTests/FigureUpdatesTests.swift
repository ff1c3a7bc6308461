import CoachCore
import Testing

@testable import coach_gateway

@Suite("FigureUpdates")
struct FigureUpdatesTests {
    @Test("how far figures are behind is noted after each fold, and when one fails")
    func lag() async throws {
        var noted: [Duration] = []
        let folding = Rollups(fold: { Duration.seconds(1) }, lag: { Duration.seconds(9) })
        try await FigureUpdates.fold(folding) { noted.append($0) }
        #expect(noted == [.seconds(1)])
        let failing = Rollups(fold: { throw StoreFault.unexpected("no such function") }, lag: { Duration.seconds(9) })
        await #expect(throws: StoreFault.self) { try await FigureUpdates.fold(failing) { noted.append($0) } }
        #expect(noted == [.seconds(1), .seconds(9)])
        let away = Rollups(
            fold: { throw StoreFault.unavailable(retryAfter: 1) }, lag: { throw StoreFault.unavailable(retryAfter: 1) })
        await #expect(throws: StoreFault.self) { try await FigureUpdates.fold(away) { noted.append($0) } }
        #expect(noted.count == 2)
    }
}
