import Foundation
import TestSupport
import Testing

@Suite("Rate of the intake of webhooks", .paced)
struct WebhookRateTests {
    private func intake(rate: Int) async throws -> WebhookGateway {
        WebhookGateway(
            gateway: try await TestBed.shared().anotherGateway([
                "REVENUECAT_WEBHOOK_AUTH": WebhookGateway.authorization, "REVENUECAT_WEBHOOK_HMAC_SECRET": WebhookGateway.secret,
                "COACH_WEBHOOK_RATE": "\(rate)",
            ]))
    }

    @Test("while turns begin slowly, or nobody knows how fast they usually do, events that must wait anyway wait longer")
    func yielding() async throws {
        let intake = try await intake(rate: 5)
        #expect(try await send(5, to: intake) == Array(repeating: 200, count: 5))
        // Beside these events, two samples of them.
        try await withThrowingTaskGroup { group in
            for _ in 0..<32 {
                let testUser = intake.gateway.testUser()
                group.addTask { expectDone(try await testUser.chat("Hello \(sim(["words": 2]))")) }
            }
            try await group.waitForAll()
        }
        let start = ContinuousClock.now
        #expect(try await send(7, to: intake) == Array(repeating: 200, count: 7))
        // Five need not wait; without the turns the last one would wait for 400 ms.
        #expect(ContinuousClock.now - start >= .milliseconds(600))
    }

    private func send(_ count: Int, to intake: WebhookGateway) async throws -> [Int] {
        try await withThrowingTaskGroup { group in
            for _ in 0..<count {
                let body = try RevenueCatEvents.body("INITIAL_PURCHASE", WebhookGateway.newUser())
                group.addTask { try await intake.send(body).status }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }

    @Test("events of one second are stored at once, the next ones at the configured rate, and the rest is 503 and not stored")
    func rate() async throws {
        let intake = try await intake(rate: 20)
        let ids = (0..<200).map { _ in UUID().uuidString }
        let start = ContinuousClock.now
        let answers = try await withThrowingTaskGroup { group in
            for id in ids {
                let body = try RevenueCatEvents.body("INITIAL_PURCHASE", WebhookGateway.newUser(), id: id)
                group.addTask { (id: id, answer: try await intake.send(body), after: ContinuousClock.now - start) }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        let (taken, refused) = (answers.filter { $0.answer.status == 200 }, answers.filter { $0.answer.status == 503 })
        #expect(taken.count + refused.count == ids.count, "\(Set(answers.map(\.answer.status)))")
        // Those of a second, and of the five seconds for which an event waits at most.
        #expect(taken.count >= 20 + 5 * 20, "\(taken.count) were taken")
        for place in stride(from: 20, to: taken.count, by: 10) {
            let earliest = Duration.seconds(1) / 20 * (place - 19)
            #expect(taken.map(\.after).sorted()[place] >= earliest, "event \(place)")
        }
        #expect(!refused.isEmpty)
        for one in refused {
            #expect(one.answer.errorCode == "SYS_5001" && one.answer.headers["retry-after"] == "60", "\(one.answer.text)")
        }
        let listed = ids.map { "'\($0)'" }.joined(separator: ", ")
        let stored = try await TestBed.shared().database.rows("select event_id from gateway.billing_events where event_id in (\(listed))")
        #expect(Set(stored.compactMap { $0["event_id"] }) == Set(taken.map(\.id)), "what was answered is not what is stored")
    }
}
