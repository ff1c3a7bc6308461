import Foundation
import TestSupport
import Testing

/// These tests stop, freeze and kill a PostgreSQL server of their own, one after the other.
@Suite("When the database is unavailable", .serialized, .paced)
struct DatabaseAwayTests {
    private struct Ground: Sendable {
        var cluster: ThrowawayCluster
        var database: Database
        var gateway: Gateway
    }

    private static let ground = Task {
        let cluster = try await ThrowawayCluster.start()
        let database = try await Database(try await cluster.freshDatabase())
        let simulator = try await TestBed.shared().simulator
        return Ground(
            cluster: cluster, database: database,
            gateway: try await Gateway(
                database: database.gatewayURL, simulator: simulator.url, environment: ["REVENUECAT_WEBHOOK_AUTH": "password"]))
    }

    private func expectAway(_ answer: Answer, within limit: Duration) {
        #expect(answer.status == 503 && answer.errorCode == "EXT_4003" && answer.error["action"] == "retry", "\(answer.text)")
        #expect(answer.headers["retry-after"].flatMap { Int($0) } ?? 0 >= 1)
        #expect(answer.endAfter < limit, "\(answer.endAfter)")
        #expect(answer.error["user_message"] == "Coach is taking a moment. Let's try again.")
    }

    @Test("because it refuses connections, a request fails within 1 s, and works again without a restart")
    func refused() async throws {
        let ground = try await Self.ground.value
        let testUser = ground.gateway.testUser()
        let quick = sim(["words": 3])
        expectDone(try await testUser.chat("Before \(quick)"))
        let endangered = ground.gateway.testUser()
        let danger = try await endangered.chat("I want to kill myself \(quick)", ["country": "GB"])
        expectDone(danger)
        let turn = try #require(danger.first("start")?["turn_id"])
        let elsewhere = ground.gateway.testUser()
        try await ground.database.endanger(elsewhere.id)
        expectDone(try await elsewhere.chat("Before \(quick)", ["country": "GB"]))
        await ground.cluster.stop()
        for _ in 0..<3 { expectAway(try await testUser.chat("Meanwhile"), within: .seconds(1)) }
        // The sender retries later, with the same body.
        let purchase = try RevenueCatEvents.body("INITIAL_PURCHASE", testUser.id)
        func webhook(_ body: [UInt8]) async throws -> Answer {
            try await testUser.browser.send("POST", RevenueCatEvents.path, body: body, headers: ["Authorization": "password"])
        }
        for body in [purchase, []] { expectAway(try await webhook(body), within: .seconds(1)) }
        let stream = try await testUser.chat("Meanwhile", headers: ["Accept": "text/event-stream"])
        #expect(stream.status == 503 && stream.eventTypes == ["error"] && stream.first("error")?.fields.flag("retryable") == true)
        try await eventually("readiness lost") { try await ground.gateway.readiness() == 503 }
        #expect(try await ground.gateway.health() == 200)

        // A message at risk gets crisis resources with the error.
        let crisis = try await testUser.chat("I want to kill myself", ["country": "GB"], headers: ["Accept": "text/event-stream"])
        #expect(crisis.status == 503 && crisis.eventTypes == ["safety", "error"] && crisis.text.contains("116 123"))

        // And an ordinary one of a user who was in danger shortly before, with whatever persona.
        let later = try await endangered.chat("Hello", headers: ["Accept": "text/event-stream"])
        let unknown = try await endangered.chat("Hello", ["domain": "gardening"], headers: ["Accept": "text/event-stream"])
        let retried = try await endangered.send(
            "POST", "/functions/v1/chat-stream/\(turn)/retry", headers: ["Accept": "text/event-stream"])
        let other = try await elsewhere.chat("Hello", headers: ["Accept": "text/event-stream"])
        for answer in [later, unknown, retried, other] {
            #expect(answer.status == 503 && answer.eventTypes == ["safety", "error"], "\(answer.text)")
            #expect(answer.text.contains("116 123"))
        }

        try await ground.cluster.start()
        try await ground.gateway.waitUntilReady(within: 5)
        expectDone(try await testUser.chat("After \(quick)"))
        for body in [purchase, []] { #expect(try await webhook(body).status == 200) }
        let subscription = try await testUser.browser.send("GET", "/api/v1/me/subscription").data
        #expect(subscription.flag("active") == true && subscription["status"] == "active")
        #expect(try await ground.database.messages(of: testUser.id, role: "user").count == 2)
    }

    @Test("because it hangs, a request fails within 3 s, and works again when it resumes")
    func hanging() async throws {
        let ground = try await Self.ground.value
        let testUser = ground.gateway.testUser()
        let quick = sim(["words": 3])
        expectDone(try await testUser.chat("Before \(quick)"))
        ground.cluster.sigstop()
        let answers = try await withThrowingTaskGroup(of: Answer.self) { group in
            for _ in 0..<4 { group.addTask { try await ground.gateway.testUser().chat("Meanwhile") } }
            return try await group.reduce(into: [Answer]()) { $0.append($1) }
        }
        let later = try await testUser.chat("Later")
        let healthy = try await ground.gateway.health()
        try await eventually("readiness lost") { try await ground.gateway.readiness() == 503 }
        ground.cluster.sigcont()
        for answer in answers + [later] { expectAway(answer, within: .seconds(3.5)) }
        #expect(healthy == 200)
        try await ground.gateway.waitUntilReady(within: 10)
        try await eventually("an answer") { try await testUser.chat("After \(quick)").first("done") != nil }
    }

    @Test("because it hangs, an instance that is full refuses a repeated request within 3 s, with the resources of a user in danger lately")
    func fullWhileHanging() async throws {
        let ground = try await Self.ground.value
        let simulator = try await TestBed.shared().simulator
        let gateway = try await Gateway(
            database: ground.database.gatewayURL, simulator: simulator.url, environment: ["COACH_MAX_TURNS": "1"])
        let user = gateway.testUser()
        // Opens with the fixed text.
        let danger = "I have a plan to kill myself \(sim(["words": 200, "pace_ms": 100]))"
        let running = try await user.openStream(danger, ["country": "GB"]).until(bytes: 10)
        ground.cluster.sigstop()
        // Only one that may be repeated looks for its turn.
        let refused = try await user.chat("Hello", ["client_message_id": "k"])
        let stopped = try await user.stop(running.turnID)
        ground.cluster.sigcont()
        expectAway(refused, within: .seconds(3.5))
        #expect(refused.text.contains("116 123"), "\(refused.text)")
        #expect(stopped.status == 200)
        _ = try await running.toEnd()
        try await ground.gateway.waitUntilReady(within: 10)
        withExtendedLifetime(gateway) {}
    }

    @Test("because it hangs, a running turn is stopped within 3 s all the same, and its stream ends")
    func stoppedWhileHanging() async throws {
        let ground = try await Self.ground.value
        let testUser = ground.gateway.testUser()
        let running = try await testUser.openStream("Slow \(sim(["words": 200, "pace_ms": 100]))").until(bytes: 10)
        ground.cluster.sigstop()
        let stopped = try await testUser.stop(running.turnID)
        let end = try await running.toEnd().end
        ground.cluster.sigcont()
        #expect(stopped.status == 200 && stopped.endAfter < .seconds(3), "\(stopped.endAfter): \(stopped.text)")
        #expect(end?["finish_reason"] == "stopped")
        // Not after the time limit of the count, 2.5 s.
        #expect(running.text.split(separator: " ").count < 15, "\(running.text)")
        try await ground.gateway.waitUntilReady(within: 10)
        try await eventually("the saved turn") { try await ground.database.turn(of: testUser.id)["status"] == "stopped" }
    }

    @Test("during a turn, the answer is streamed to its end and saved when the database is back")
    func killedMeanwhile() async throws {
        let ground = try await Self.ground.value
        let testUser = ground.gateway.testUser()
        async let running = testUser.chat("Tell me \(sim(["words": 12, "pace_ms": 80]))")
        try await eventually("the running turn") {
            try await ground.database.rows("select id from turns where user_id = '\(testUser.id)'").count == 1
        }
        await ground.cluster.kill9()
        let answer = try await running
        #expect(answer.eventTypes == ["start", "token", "usage", "done"])
        try await ground.cluster.start()
        try await eventually("the saved answer") {
            try await ground.database.messages(of: testUser.id, role: "assistant").map { $0["content"] } == [answer.content]
        }
        #expect(try await ground.database.usage(of: testUser.id).count == 1)
        #expect(try await ground.database.turn(of: testUser.id)["status"] == "complete")
    }

    @Test("another provider is called all the same, and its call gets a row with the receipt")
    func failover() async throws {
        let ground = try await Self.ground.value
        let simulator = try await Simulator()
        let root = try Folder.routing(["sim-first", "sim-second"], through: simulator)
        let gateway = try await Gateway(database: ground.database.gatewayURL, simulator: nil, environment: root.environment)
        let (user, mark) = (gateway.testUser(), marker())
        let scripts = [
            ["model": "sim-first", "first_token_ms": 1_500, "http_error": ["status": 503]], ["model": "sim-second", "text": "Here."],
        ].map(sim)
        async let asking = user.chat("Hello \(mark) \(scripts.joined(separator: " "))")
        try await eventually("the first call") { try await simulator.requests(containing: mark).count == 1 }
        await ground.cluster.kill9()
        let answer = try await asking
        expectDone(answer)
        #expect(answer.content == "Here.")
        try await ground.cluster.start()
        // The receipt, and the record that was written to disk before the second call.
        try await eventually("the rows of both calls") {
            try await ground.database.rows(
                """
                select concat_ws('|', l.call, l.revision, coalesce(l.model, '-')) as row
                from usage_logs l join users u using (account_id) where u.id = '\(user.id)' order by l.call, l.revision
                """
            ).compactMap { $0["row"] } == ["1|0|-", "1|1|sim-second", "3|0|-", "3|1|sim-first"]
        }
        #expect(try await ground.database.turn(of: user.id)["status"] == "complete")
    }
}
