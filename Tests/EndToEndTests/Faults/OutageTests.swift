import Foundation
import Glibc
import TestSupport
import Testing

/// A PostgreSQL of its own that a test stops, freezes and starts.
private struct Island: Sendable {
    var cluster: ThrowawayCluster
    var database: Database
    var simulator: Simulator

    init() async throws {
        simulator = try await Stage.shared().simulator
        cluster = try await ThrowawayCluster.start()
        database = try await Database(try await cluster.freshDatabase())
    }

    func gateway(_ folder: StateFolder) async throws -> Gateway {
        try await Gateway(database: database.gatewayURL, simulator: simulator.url, environment: folder.state())
    }
}

@Suite("PostgreSQL gone under running turns", .paced)
struct OutageTests {
    @Test("fifty of them stream on to their end; new ones are told to wait within 1 s; all are saved once, and none is taken for dead")
    func fifty() async throws {
        let island = try await Island()
        let (one, other) = (try await island.gateway(try StateFolder()), try await island.gateway(try StateFolder()))
        let listening = try await withThrowingTaskGroup(of: (Visitor, Listening).self) { group in
            for index in 0..<50 {
                let visitor = (index % 2 == 0 ? one : other).visitor()
                group.addTask {
                    (visitor, try await visitor.listen("Hello \(sim(["words": 60, "pace_ms": 100]))").until(bytes: 1))
                }
            }
            return try await group.reduce(into: [(Visitor, Listening)]()) { $0.append($1) }
        }
        await island.cluster.stop()
        let asked = ContinuousClock.now
        let refused = try await one.visitor().say("Me too")
        #expect(asked.duration(to: .now) < .seconds(1))
        #expect(refused.status == 503 && refused.errorCode == "EXT_4003" && Int(refused.headers["retry-after"] ?? "") ?? 0 >= 1)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (_, each) in listening {
                group.addTask {
                    try await each.toEnd()
                    #expect(each.story == ["start", "token", "usage", "done"])
                }
            }
            try await group.waitForAll()
        }
        try await island.cluster.start()
        try await eventually(within: 20, "all receipts") {
            try await island.database.row("select count(*) as ended from turns where status = 'complete'").number("ended") == 50
        }
        for (visitor, each) in listening {
            let (turn, content) = try await island.database.settledAnswer(of: visitor.id)
            #expect(turn["status"] == "complete" && turn["settled_by"] == "owner" && content == each.text)
            #expect(try await island.database.usage(of: visitor.id).count == 1)
        }
        #expect(try await island.database.isBalanced())
        // And it goes on without a restart.
        try await eventually("an answer") { try await one.visitor().say("Hello \(sim(["words": 2]))").status == 200 }
    }

    @Test("a receipt on disk survives the gateway too, and is booked once, as the owner's")
    func spooled() async throws {
        let island = try await Island()
        let folder = try StateFolder()
        let gateway = try await island.gateway(folder)
        let visitor = gateway.visitor()
        let first = try await visitor.listen("Hello \(sim(["words": 20, "pace_ms": 50]))").until(bytes: 1)
        await island.cluster.stop()
        #expect(try await first.toEnd().end?.type == "done")
        let spool = try #require(folder.files.first { $0.contains("receipts/") })
        let mode = try FileManager.default.attributesOfItem(atPath: "\(folder.path)/\(spool)")[.posixPermissions] as? Int
        #expect(mode == 0o600)
        gateway.program.signal(SIGKILL)
        try await gateway.program.exit()
        try await island.cluster.start()
        let successor = try await island.gateway(folder)
        let (turn, content) = try await island.database.settledAnswer(of: visitor.id, within: 10)
        #expect(turn["status"] == "complete" && turn["settled_by"] == "owner" && content == first.text)
        let bills = try await island.database.usage(of: visitor.id)
        #expect(bills.count == 1 && bills[0].flag("estimated") == false)
        try await eventually("an empty spool") { !folder.files.contains { $0.contains("receipts/") } }
        #expect(try await visitor.at(successor.port).resume(first.turnID, after: "0").content == content)
    }

    @Test("a turn whose beginning was committed, but whose answer was lost, does not block its conversation")
    func lostBeginning() async throws {
        let island = try await Island()
        let gateway = try await island.gateway(try StateFolder())
        let visitor = gateway.visitor()
        let opening = try await visitor.say("Hello \(sim(["words": 2]))")
        let conversation = try #require(opening.first("start")?["conversation_id"])
        let message = "And now? \(sim(["words": 3]))"
        let more = ["client_message_id": "k", "conversation_id": conversation]
        island.cluster.sigstop()
        let refused = try await visitor.say(message, more)
        #expect(refused.status == 503 && refused.errorCode == "EXT_4003" && refused.endAfter < .seconds(3.5), "\(refused.text)")
        island.cluster.sigcont()
        let asked = ContinuousClock.now
        var answer = try await visitor.listen(message, more).toEnd()
        while answer.end?.type != "done", asked.duration(to: .now) < .seconds(15) {
            try await Task.sleep(for: .milliseconds(100))
            answer = try await visitor.listen(message, more).toEnd()
        }
        #expect(answer.end?.type == "done" && asked.duration(to: .now) < .seconds(15), "\(answer.story) after \(asked.duration(to: .now))")
        #expect(try await island.database.messages(of: visitor.id, role: "user").count == 2)
        #expect(try await visitor.say("Good \(sim(["words": 2]))", ["conversation_id": conversation]).first("done") != nil)
    }

    @Test(
        "and the disk full under the spool: a critical line in the log, no crash, and the answer is saved from memory",
        .enabled(if: getuid() == 0))
    func fullDisk() async throws {
        let island = try await Island()
        let folder = try StateFolder()
        guard mount("none", folder.path, "tmpfs", 0, "size=16k") == 0 else { return }
        Undertaker.afterOurDeath("umount -l '\(folder.path)' 2>/dev/null")
        defer { umount2(folder.path, Int32(MNT_DETACH)) }
        let gateway = try await island.gateway(folder)
        let visitor = gateway.visitor()
        let first = try await visitor.listen("Hello \(sim(["words": 30, "pace_ms": 50]))").until(bytes: 1)
        let ballast = open("\(folder.path)/ballast", O_CREAT | O_WRONLY, 0o600)
        let page = [UInt8](repeating: 1, count: 4096)
        while write(ballast, page, page.count) > 0 {}
        close(ballast)
        await island.cluster.stop()
        #expect(try await first.toEnd().end?.type == "done")
        try await eventually("the alarm") { gateway.log.contains { $0["level"] == "critical" } }
        let alarm = try #require(gateway.log.first { $0["level"] == "critical" })
        #expect(alarm["turn_id"] == first.turnID && alarm["message"]?.contains("spool") == true)
        #expect(gateway.program.isRunning)
        #expect(try await gateway.health() == 200)
        try await island.cluster.start()
        let (turn, content) = try await island.database.settledAnswer(of: visitor.id)
        #expect(turn["status"] == "complete" && content == first.text)
    }
}
