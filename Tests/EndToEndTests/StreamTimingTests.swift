import Foundation
import Testing

@Suite("The stream of an answer")
struct StreamTimingTests {
    @Test("begins before the model's first token", .paced)
    func headFirst() async throws {
        let answer = try await TestBed.shared().testUser().chat("Hello \(sim(["first_token_ms": 1500, "words": 3]))")
        let start = try #require(answer.first("start")), token = try #require(answer.first("token"))
        #expect(answer.headAfter < .seconds(1) && start.arrivedAfter < .seconds(1))
        #expect(token.arrivedAfter >= .seconds(1.4))
    }

    @Test("delivers tokens as the model sends them, not in one burst", .paced)
    func spread() async throws {
        let answer = try await TestBed.shared().testUser().chat("Hello \(sim(["words": 20, "pace_ms": 100]))")
        let arrivals = answer.events.filter { $0.type == "token" }.map(\.arrivedAfter)
        #expect(arrivals.count >= 15)
        let (first, last) = (try #require(arrivals.first), try #require(arrivals.last))
        #expect(last - first > .seconds(1.5))
        // After half of the time, about half of the tokens.
        let half = arrivals.count { $0 < first + (last - first) / 2 }
        #expect((5...15).contains(half), "\(arrivals)")
    }

    @Test("is sent event by event also to a client that delays acknowledgements (no Nagle)", .paced)
    func noDelay() async throws {
        let testUser = try await TestBed.shared().testUser()
        let request = try testUser.request("Hello \(sim(["words": 60, "pace_ms": 10]))")
        let port = testUser.browser.port
        // The best of several, because one may be delayed by other work of the machine.
        var most = 0
        for _ in 0..<4 where most < 45 {
            let reads = try await Wire.run {
                let wire = try Wire(port: port)
                try wire.send(request)
                var (text, reads) = ("", 0)
                while !text.contains("\"done\":true") {
                    wire.acknowledgeLate()
                    text += String(decoding: try wire.receive(), as: UTF8.self)
                    reads += 1
                }
                return reads
            }
            most = max(most, reads)
        }
        #expect(most >= 45, "62 events came in \(most) pieces")
    }
}
