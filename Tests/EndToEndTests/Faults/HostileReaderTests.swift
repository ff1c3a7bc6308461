import Foundation
import Glibc
import Testing

/// These tests keep many connections open, each until a time limit.
@Suite("Slow and hostile clients", .serialized, .patient)
struct HostileReaderTests {
    private static let ground = Task {
        let testBed = try await TestBed.shared()
        let simulator = try await Simulator()
        let folder = try StateFolder()
        let gateway = try await Gateway(database: testBed.database.gatewayURL, simulator: simulator.url, environment: folder.state())
        return (gateway: gateway, folder: folder, simulator: simulator)
    }

    @Test("a thousand silent connections, and slow heads and bodies, are cut off without affecting others")
    func silence() async throws {
        let (gateway, _, _) = try await Self.ground.value
        // The usual limit of 1,024 descriptors is only a default.
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        limit.rlim_cur = max(limit.rlim_cur, min(limit.rlim_max, 8192))
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        let start = ContinuousClock.now
        let silent = try await Wire.run { try (0..<1000).map { _ in try Wire(port: gateway.port, timeout: 40) } }
        async let head = trickle(
            Array("GET /healthz HTTP/1.1\r\nHost: a\r\nX-Long: \(String(repeating: "a", count: 200))\r\n\r\n".utf8), gateway)
        let testUser = gateway.testUser()
        let whole = try testUser.request("Hello \(String(repeating: "a", count: 200))")
        let bodyAt = try #require(String(decoding: whole, as: UTF8.self).range(of: "\r\n\r\n")).upperBound
        let headBytes = Array(String(decoding: whole, as: UTF8.self)[..<bodyAt].utf8)
        async let body = trickle(Array(whole[headBytes.count...]), gateway, after: headBytes)

        // All of them are connected.
        #expect(try await gateway.testUser().chat("Hello \(sim(["words": 3]))").endAfter < .seconds(2))
        // Closed, or answered with 408.
        try await Wire.run { for wire in silent { while try !wire.receive().isEmpty {} } }
        #expect(start.duration(to: .now) < .seconds(15), "\(start.duration(to: .now))")
        let (headEnd, bodyEnd) = try await (head, body)
        #expect(headEnd < .seconds(15) && bodyEnd < .seconds(25), "head \(headEnd), body \(bodyEnd)")
        #expect(try await gateway.health() == 200)
    }

    /// Sends a beginning at once and then a byte each second; returns how long the connection stayed open.
    private func trickle(_ bytes: [UInt8], _ gateway: Gateway, after beginning: [UInt8] = []) async throws -> Duration {
        try await Wire.run {
            let wire = try Wire(port: gateway.port, timeout: 1)
            let start = ContinuousClock.now
            try wire.send(beginning)
            for byte in bytes {
                guard start.duration(to: .now) < .seconds(40) else { break }
                guard (try? wire.send([byte])) != nil else { break }
                // Waits a second for an answer or the end.
                if let answer = try? wire.receive(), answer.isEmpty || String(decoding: answer, as: UTF8.self).hasPrefix("HTTP/1.1 4") {
                    break
                }
            }
            return start.duration(to: .now)
        }
    }
}
