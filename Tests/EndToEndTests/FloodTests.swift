import Foundation
import TestSupport
import Testing

@Suite("A flooding provider", .paced)
struct FloodTests {
    @Test("does not slow down 200 other streams, and does not keep the lease from being renewed")
    func otherStreams() async throws {
        // A new database, so that the lease is only that of this gateway.
        let database = try await Database(try await FreshDatabase())
        let provider = try FloodingProvider()
        let gateway = try await Gateway(database: database.gatewayURL, simulator: provider.url)
        try await withThrowingTaskGroup(of: Answer?.self) { group in
            for _ in 0..<200 { group.addTask { try await gateway.testUser().chat("hello", timeout: 60) } }
            for flood in ["comments", "one line"] {
                group.addTask {
                    let answer = try await gateway.testUser().chat("flood with \(flood)", timeout: 60)
                    #expect(answer.story.last == "error", "\(answer.text)")
                    return nil
                }
            }
            let leases = Task {
                var oldest = 0.0
                while !Task.isCancelled {
                    let row = try await database.row(
                        "select extract(epoch from clock_timestamp() - max(renewed_at))::text as age from gateway.instances")
                    oldest = max(oldest, row["age"].flatMap(Double.init) ?? .infinity)
                    try? await Task.sleep(for: .milliseconds(100))
                }
                return oldest
            }
            var gaps: [Duration] = []
            for try await answer in group {
                guard let answer else { continue }
                expectDone(answer)
                #expect(answer.content.split(separator: " ").count == FloodingProvider.words)
                let arrivals = answer.events.filter { $0.type == "token" }.map(\.arrivedAfter)
                gaps += zip(arrivals, arrivals.dropFirst()).map { $1 - $0 }
            }
            leases.cancel()
            let oldest = try await leases.value
            #expect(oldest < 4, "the lease was not renewed for \(oldest) s")
            gaps.sort()
            // The bounds are far above the usual pace, because the machine may be busy and the flood uses one core, and far below a
            // standstill.
            #expect(gaps[gaps.count * 99 / 100] < .milliseconds(500), "\(gaps[gaps.count * 99 / 100])")
            #expect((gaps.last ?? .zero) < .seconds(2), "\(gaps.last ?? .zero)")
        }
    }
}
