import Foundation
import TestSupport
import Testing

@Suite("Behind PgBouncer in transaction mode", .paced, .enabled(if: Pooler.program != nil, "the package pgbouncer"))
struct PoolerTests {
    /// Two gateways on one pooled database; LISTEN does not use the pooler.
    private struct Ground {
        let database: Database
        let pooler: Pooler
        let simulator: Simulator
        let one: Gateway
        let other: Gateway

        init() async throws {
            simulator = try await TestBed.shared().simulator
            database = try await Database.ofItsOwn()
            pooler = try await Pooler(inFrontOf: database.fresh.url, users: ["coach_gateway": Database.password])
            let pooled = try pooler.url(database.gatewayURL)
            let environment = ["DATABASE_LISTEN_URL": database.gatewayURL, "COACH_DATABASE_STATEMENTS": "unnamed"]
            one = try await Gateway(database: pooled, simulator: simulator.url, environment: environment)
            other = try await Gateway(database: pooled, simulator: simulator.url, environment: environment)
        }
    }

    @Test("turns begin, are repeated, retried, resumed and stopped as without it, and no claims leak to other users")
    func turns() async throws {
        let ground = try await Ground()
        let testUser = ground.one.testUser()

        // Answered and saved; a repeated request gets the answer.
        let said = sim(["text": "Begin with five minutes."])
        let first = try await testUser.chat("How do I begin? \(said)", ["client_message_id": "one"])
        let again = try await testUser.at(ground.other.port).chat("How do I begin? \(said)", ["client_message_id": "one"])
        #expect(first.content == "Begin with five minutes." && again.content == first.content)
        #expect(try await ground.database.usage(of: testUser.id).count == 1)
        let turn = try await ground.database.turn(of: testUser.id)
        #expect(turn["status"] == "complete" && turn["id"] == first.first("start")?["turn_id"])

        // Retried through the other gateway, as another turn on the same message.
        let turnID = try #require(first.first("start")?["turn_id"])
        let retried = try await testUser.at(ground.other.port).retry(turnID)
        expectDone(retried)
        let start = try #require(retried.first("start"))
        #expect(start["turn_id"] != turnID && start["user_message_id"] == first.first("start")?["user_message_id"])
        #expect(try await ground.database.usage(of: testUser.id).count == 2)
        let answers = try await ground.database.messages(of: testUser.id, role: "assistant")
        #expect(answers.compactMap { $0["status"] }.sorted() == ["complete", "superseded"])

        // Resumed on the other gateway while it runs, and after its end.
        let sender = ground.one.testUser()
        let begun = try await sender.openStream("Hello \(sim(["words": 60, "pace_ms": 20]))").until(bytes: 30)
        begun.hangUp()
        let rest = try await sender.at(ground.other.port).follow(begun.turnID, after: begun.position).toEnd()
        #expect(rest.eventTypes == ["start", "token", "usage", "done"] && rest.turnID == begun.turnID)
        let whole = try await sender.at(ground.other.port).resume(begun.turnID, after: "0")
        #expect(whole.content == begun.text + rest.text)

        // Stopped through the other gateway: the notification comes by LISTEN.
        let runner = ground.one.testUser()
        let reader = try await runner.openStream("Hello \(sim(["words": 400, "pace_ms": 20]))").until(bytes: 60)
        let stop = try await runner.at(ground.other.port).stop(reader.turnID)
        #expect(stop.status == 200)
        try await reader.toEnd()
        #expect(reader.end?["finish_reason"] == "stopped")

        // Many concurrent turns over three server connections.
        try await withThrowingTaskGroup(of: (String, String).self) { group in
            for number in 1...24 {
                let testUser = (number.isMultiple(of: 2) ? ground.one : ground.other).testUser()
                group.addTask {
                    let answer = try await testUser.chat("Hello \(sim(["text": "Number \(number)."]))")
                    #expect(answer.content == "Number \(number).")
                    let list = try await testUser.browser.send("GET", "/api/v1/conversations")
                    #expect(list.json.objects("data").map { $0["id"] } == [answer.first("start")?["conversation_id"]])
                    return (testUser.id, answer.content)
                }
            }
            for try await (user, content) in group {
                #expect(try await ground.database.messages(of: user, role: "assistant").map { $0["content"] } == [content])
            }
        }
    }

    @Test("check finds nothing wrong with the settings for a pooler, and says what a pooler rejects without them")
    func check() async throws {
        let testBed = try await TestBed.shared()
        let pooler = try await Pooler(inFrontOf: testBed.database.fresh.url, users: ["coach_gateway": Database.password])
        let settings = ["DATABASE_LISTEN_URL": testBed.database.gatewayURL, "COACH_DATABASE_STATEMENTS": "unnamed"]
        var environment = Gateway.environment(
            database: try pooler.url(testBed.database.gatewayURL), simulator: testBed.simulator.url)
        let direct = try await Program.run(["check"], environment: environment)
        #expect(direct.status != 0 && direct.output.contains("DATABASE_URL: no connection"), "\(direct.output)")
        environment.merge(settings) { $1 }
        let pooled = try await Program.run(["check"], environment: environment)
        #expect(pooled.status == 0 && pooled.output.contains("no findings"), "\(pooled.output)")
    }
}
