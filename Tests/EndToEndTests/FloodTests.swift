import Foundation
import TestSupport
import Testing

@Suite("A flooding provider", .paced)
struct FloodTests {
    @Test("slows down 200 other streams and the renewal of the lease no more than a flood that the gateway does not read")
    func otherStreams() async throws {
        // A new database, so that the lease is only that of this gateway.
        let database = try await Database.ofItsOwn()
        let provider = try FloodingProvider()
        let gateway = try await Gateway(database: database.gatewayURL, simulator: provider.url)
        var measured: [String] = []
        // The best of three, because the machine may be busier during one measurement than during the other.
        for _ in 0..<3 {
            let apart = try await pace(of: gateway, database) { try await Self.read(provider) }
            let through = try await pace(of: gateway, database) {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for flood in ["comments", "one line"] { group.addTask { try await Self.read(flood, through: gateway) } }
                    try await group.waitForAll()
                }
            }
            measured.append("\(through), and beside a flood that the gateway does not read \(apart)")
            if through.isNear(apart) { return }
        }
        Issue.record("\(measured)")
    }

    @Test("that sends text and then 10 MB in one line: the text is kept, and many at once take no memory for the line")
    func longLine() async throws {
        let provider = try FloodingProvider()
        let gateway = try await Gateway(
            database: try await TestBed.shared().database.gatewayURL, simulator: provider.url)
        @Sendable func flood() async throws {
            let answer = try await gateway.testUser().chat("flood after text", timeout: 60)
            #expect(answer.eventTypes == ["start", "token", "usage", "error"] && answer.content == "Kept.", "\(answer.text)")
            let error = try #require(answer.first("error")).fields
            #expect(error["code"] == "EXT_4001" && error.flag("partial") == true && error.number("kept_bytes") == 5)
        }
        try await flood()
        let memory = gateway.program.memory
        try memory.forgetPeak()
        let before = try memory.resident()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<40 { group.addTask { try await flood() } }
            try await group.waitForAll()
        }
        let growth = try memory.peak() - before
        #expect(growth < 100 << 20, "\(growth) bytes, of 400 MB that were offered")
    }

    private struct Pace {
        /// Between two tokens of a stream: the 99th percentile, and the longest.
        var gap99: Duration
        var longestGap: Duration
        /// Seconds since the lease was renewed, at most.
        var oldestLease: Double

        /// Tokens come every 100 ms, and the lease is renewed four times a second: a standstill of a second is not near.
        func isNear(_ other: Pace) -> Bool {
            gap99 < other.gap99 * 2 && longestGap < other.longestGap * 2 + .milliseconds(300) && oldestLease < other.oldestLease * 2 + 0.5
        }
    }

    /// Of 200 streams, and of the lease meanwhile.
    private func pace(
        of gateway: Gateway, _ database: Database, beside flood: @escaping @Sendable () async throws -> Void
    ) async throws -> Pace {
        async let flooded: Void = flood()
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
        defer { leases.cancel() }
        let sorted = try await withThrowingTaskGroup(of: Answer.self, returning: [Duration].self) { group in
            for _ in 0..<200 { group.addTask { try await gateway.testUser().chat("hello", timeout: 60) } }
            var gaps: [Duration] = []
            for try await answer in group {
                expectDone(answer)
                #expect(answer.content.split(separator: " ").count == FloodingProvider.words)
                let arrivals = answer.events.filter { $0.type == "token" }.map(\.arrivedAfter)
                gaps += zip(arrivals, arrivals.dropFirst()).map { $1 - $0 }
            }
            return gaps.sorted()
        }
        leases.cancel()
        try await flooded
        let longest = try #require(sorted.last)
        return Pace(gap99: sorted[sorted.count * 99 / 100], longestGap: longest, oldestLease: try await leases.value)
    }

    private static func read(_ flood: String, through gateway: Gateway) async throws {
        let answer = try await gateway.testUser().chat("flood with \(flood)", timeout: 60)
        #expect(answer.eventTypes.last == "error", "\(answer.text)")
        // Until the time limit of the first token, which comments do not extend: most of the time of the other streams.
        if flood == "comments" { #expect(answer.endAfter > .seconds(3)) }
    }

    /// Reads a flood without the gateway, for as long as the gateway does.
    private static func read(_ provider: FloodingProvider) async throws {
        try await Wire.run {
            let wire = try Wire(port: provider.port)
            try wire.send("POST /v1/chat/completions HTTP/1.1\r\nContent-Length: 19\r\n\r\nflood with comments")
            let end = ContinuousClock.now + .seconds(6)
            while ContinuousClock.now < end { _ = try wire.receive() }
        }
    }
}
