import Foundation
import Glibc
import TestSupport
import Testing

/// A PostgreSQL server that a test stops, freezes and starts.
private struct Island: Sendable {
    var cluster: ThrowawayCluster
    var database: Database
    var simulator: Simulator

    init() async throws {
        simulator = try await TestBed.shared().simulator
        cluster = try await ThrowawayCluster.start()
        database = try await Database(try await cluster.freshDatabase())
    }

    func gateway(_ folder: StateFolder, _ environment: [String: String] = [:]) async throws -> Gateway {
        try await Gateway(database: database.gatewayURL, simulator: simulator.url, environment: folder.state(environment))
    }
}

@Suite("PostgreSQL outages during turns", .paced)
struct OutageTests {
    @Test("two hundred turns stream to their end and are saved once, none is orphaned; new ones are rejected within 1 s")
    func twoHundred() async throws {
        let island = try await Island()
        let (one, other) = (try await island.gateway(try StateFolder()), try await island.gateway(try StateFolder()))
        let readers = try await withThrowingTaskGroup(of: (TestUser, StreamReader).self) { group in
            for index in 0..<200 {
                let testUser = (index % 2 == 0 ? one : other).testUser()
                group.addTask {
                    (testUser, try await testUser.openStream("Hello \(sim(["words": 60, "pace_ms": 100]))").until(bytes: 1))
                }
            }
            return try await group.reduce(into: [(TestUser, StreamReader)]()) { $0.append($1) }
        }
        await island.cluster.stop()
        let asked = ContinuousClock.now
        let refused = try await one.testUser().chat("Me too")
        #expect(asked.duration(to: .now) < .seconds(1))
        #expect(refused.status == 503 && refused.errorCode == "EXT_4003" && Int(refused.headers["retry-after"] ?? "") ?? 0 >= 1)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (_, each) in readers {
                group.addTask {
                    try await each.toEnd()
                    #expect(each.eventTypes == ["start", "token", "usage", "done"])
                }
            }
            try await group.waitForAll()
        }
        try await island.cluster.start()
        try await eventually(within: .seconds(20), "all receipts") {
            try await island.database.row("select count(*) as ended from turns where status = 'complete'").number("ended") == 200
        }
        let rows = try await island.database.rows(
            """
            select t.user_id, t.status, t.finalized_by, m.content, (select count(*) from model_calls u where u.user_id = t.user_id) as bills
            from turns t join messages m on m.user_id = t.user_id and m.id = t.message_id
            """)
        let saved = Dictionary(uniqueKeysWithValues: rows.map { ($0["user_id"] ?? "", $0) })
        for (testUser, each) in readers {
            let turn = try #require(saved[testUser.id])
            #expect(turn["status"] == "complete" && turn["finalized_by"] == "owner" && turn["content"] == each.text)
            #expect(turn.number("bills") == 1)
        }
        #expect(try await island.database.isBalanced())
        // And it works again without a restart.
        try await eventually("an answer") { try await one.testUser().chat("Hello \(sim(["words": 2]))").status == 200 }
    }

    @Test("a receipt on disk survives a restart, and is booked once, as the owner's")
    func spooled() async throws {
        let island = try await Island()
        let folder = try StateFolder()
        let gateway = try await island.gateway(folder)
        let testUser = gateway.testUser()
        let first = try await testUser.openStream("Hello \(sim(["words": 20, "pace_ms": 50]))").until(bytes: 1)
        await island.cluster.stop()
        #expect(try await first.toEnd().end?.type == "done")
        let spool = try #require(folder.files.first { $0.contains("receipts/") })
        let mode = try FileManager.default.attributesOfItem(atPath: "\(folder.path)/\(spool)")[.posixPermissions] as? Int
        #expect(mode == 0o600)
        gateway.program.signal(SIGKILL)
        try await gateway.program.exit()
        try await island.cluster.start()
        let successor = try await island.gateway(folder)
        let (turn, content) = try await island.database.settledAnswer(of: testUser.id, within: 10)
        #expect(turn["status"] == "complete" && turn["finalized_by"] == "owner" && content == first.text)
        let bills = try await island.database.usage(of: testUser.id)
        #expect(bills.count == 1 && bills[0].flag("estimated") == false)
        try await eventually("an empty spool") { !folder.files.contains { $0.contains("receipts/") } }
        #expect(try await testUser.at(successor.port).resume(first.turnID, after: "0").content == content)
    }

    @Test("a receipt on disk is booked before another instance can take its turn for lost")
    func spooledFirst() async throws {
        let island = try await Island()
        let folder = try StateFolder()
        let (gateway, other) = (try await island.gateway(folder), try await island.gateway(try StateFolder()))
        let testUser = gateway.testUser()
        let first = try await testUser.openStream("Hello \(sim(["words": 20, "pace_ms": 50]))").until(bytes: 1)
        await island.cluster.stop()
        #expect(try await first.toEnd().end?.type == "done")
        gateway.program.signal(SIGKILL)
        try await gateway.program.exit()
        try await island.cluster.start()
        // Longer than the other instance's pause between two looks for lost turns.
        try await island.database.fresh.psql(
            """
            alter function gateway.finish_turn(uuid, jsonb) rename to finish_turn_at_once;
            create function gateway.finish_turn(uid uuid, receipt jsonb) returns jsonb language plpgsql set search_path = '' as $$
            begin
                if receipt ->> 'finalized_by' is distinct from 'recovery' then
                    perform pg_sleep(1.5);
                end if;
                return gateway.finish_turn_at_once(uid, receipt);
            end $$;
            """)
        try await other.waitUntilReady()
        let restarted = try await island.gateway(folder)
        defer { withExtendedLifetime(restarted) {} }
        let (turn, content) = try await island.database.settledAnswer(of: testUser.id)
        #expect(turn["status"] == "complete" && turn["finalized_by"] == "owner" && content == first.text)
        #expect(!other.log.contains { $0["message"] == "a turn of a crashed instance was finalized" }, "\(other.program.output)")
    }

    @Test(
        "a disk that is really full: an alarm, an error that does not say that the answer is saved, and delivery when the database is back")
    func fullDisk() async throws {
        let folder = try StateFolder()
        guard let disk = try SmallDisk(at: folder.path) else { return }
        let island = try await Island()
        let gateway = try await island.gateway(folder)
        let testUser = gateway.testUser()
        let first = try await testUser.openStream("Hello \(sim(["words": 30, "pace_ms": 50]))").until(bytes: 1)
        try disk.fill()
        await island.cluster.stop()
        try await first.toEnd()
        let end = try #require(first.end)
        #expect(end.type == "error" && end["code"] == "EXT_4003" && end.fields.flag("retryable") == true, "\(end.data)")
        #expect(end.fields.number("kept_bytes") == first.bytes.count)
        let alarm = gateway.log.first { $0["level"] == "critical" }
        #expect(alarm?["message"]?.contains("could not be spooled") == true && alarm?["turn_id"] == first.turnID)
        #expect(gateway.program.output.contains("no space left on the disk"))
        #expect(!folder.files.contains { $0.hasSuffix(".receipt") || $0.hasSuffix(".unfinished") })
        try await island.cluster.start()
        let (turn, content) = try await island.database.settledAnswer(of: testUser.id, within: 20)
        #expect(turn["status"] == "complete" && turn["finalized_by"] == "owner" && content == first.text)
        #expect(try await island.database.usage(of: testUser.id).count == 1)
        let told = try await testUser.resume(first.turnID, after: "0")
        #expect(told.eventTypes == ["start", "token", "usage", "done"] && told.content == content)
        gateway.program.signal(SIGTERM)
        try await gateway.program.exit()
    }

    @Test("an instance that can save answers neither in the database nor on disk is not ready, as the metrics port shows")
    func notSaving() async throws {
        let folder = try StateFolder()
        let island = try await Island()
        let gateway = try await island.gateway(folder, ["COACH_METRICS_LISTEN": "127.0.0.1:0"])
        let port = try await gateway.metricsPort()
        func readiness() async throws -> Answer { try await Browser(port: port).send("GET", "/readyz") }
        let before = try await readiness()
        #expect(before.status == 200 && before.json.flag("saving") == true)

        let first = try await gateway.testUser().openStream("Hello \(sim(["words": 20, "pace_ms": 50]))").until(bytes: 1)
        try folder.refuseReceipts()
        await island.cluster.stop()
        #expect(try await first.toEnd().end?["code"] == "EXT_4003")
        let during = try await readiness()
        #expect(during.status == 503 && during.json.flag("saving") == false)
        #expect(try await gateway.readiness() == 503)

        try await island.cluster.start()
        try await gateway.waitUntilReady()
        try await eventually("saving again") { try await readiness().json.flag("saving") == true }
    }

    @Test("an instance whose database is reachable and only reads is not ready while the disk refuses answers, too")
    func readOnly() async throws {
        let folder = try StateFolder()
        let island = try await Island()
        let gateway = try await island.gateway(folder, ["COACH_METRICS_LISTEN": "127.0.0.1:0"])
        let port = try await gateway.metricsPort()
        let testUser = gateway.testUser()
        let first = try await testUser.openStream("Hello \(sim(["words": 60, "pace_ms": 50]))").until(bytes: 1)
        try folder.refuseReceipts()
        try await allowWrites(false, on: island)
        #expect(try await first.toEnd().end?["code"] == "EXT_4003")
        try await eventually("a reachable database that does not save") {
            let during = try await Browser(port: port).send("GET", "/readyz")
            return during.status == 503 && during.json.flag("saving") == false && during.json.flag("database") == true
        }
        #expect(try await gateway.readiness() == 503)

        try await allowWrites(true, on: island)
        try await gateway.waitUntilReady()
        let (turn, content) = try await island.database.settledAnswer(of: testUser.id, within: 20)
        #expect(turn["status"] == "complete" && content == first.text)
    }

    @Test("an instance whose database only reads is not ready, and serves again when it writes, in sessions that began before, too")
    func onlyReading() async throws {
        let island = try await Island()
        let gateway = try await island.gateway(try StateFolder(), ["COACH_METRICS_LISTEN": "127.0.0.1:0"])
        let port = try await gateway.metricsPort()
        try await allowWrites(false, on: island)
        try await eventually("a database that takes no writes") {
            let during = try await Browser(port: port).send("GET", "/readyz")
            return during.status == 503 && during.json.flag("writing") == false && during.json.flag("database") == true
        }
        #expect(try await gateway.testUser().chat("Hello").errorCode == "EXT_4003")
        let database = island.database.fresh
        try await database.psql("alter role coach_gateway in database \(database.name) reset default_transaction_read_only")
        try await gateway.waitUntilReady()
        try await eventually("an answer") { try await gateway.testUser().chat("Hello \(sim(["words": 2]))").first("done") != nil }
    }

    /// For sessions of the gateway, all of which begin anew.
    private func allowWrites(_ isAllowed: Bool, on island: Island) async throws {
        let change = isAllowed ? "reset default_transaction_read_only" : "set default_transaction_read_only = on"
        let database = island.database.fresh
        try await database.psql("alter role coach_gateway in database \(database.name) \(change)")
        // Only sessions that begin after the commit have the setting.
        try await database.psql("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'coach_gateway'")
    }

    @Test("a turn that begin_turn committed, but whose result was lost, does not block its conversation")
    func lostBeginning() async throws {
        let island = try await Island()
        let gateway = try await island.gateway(try StateFolder())
        let testUser = gateway.testUser()
        let opening = try await testUser.chat("Hello \(sim(["words": 2]))")
        let conversation = try #require(opening.first("start")?["conversation_id"])
        let message = "And now? \(sim(["words": 3]))"
        let more = ["client_message_id": "k", "conversation_id": conversation]
        island.cluster.sigstop()
        let refused = try await testUser.chat(message, more)
        #expect(refused.status == 503 && refused.errorCode == "EXT_4003" && refused.endAfter < .seconds(3.5), "\(refused.text)")
        island.cluster.sigcont()
        let asked = ContinuousClock.now
        var answer = try await testUser.openStream(message, more).toEnd()
        while answer.end?.type != "done", asked.duration(to: .now) < .seconds(15) {
            try await Task.sleep(for: .milliseconds(100))
            answer = try await testUser.openStream(message, more).toEnd()
        }
        #expect(
            answer.end?.type == "done" && asked.duration(to: .now) < .seconds(15),
            "\(answer.eventTypes) after \(asked.duration(to: .now))")
        #expect(try await island.database.messages(of: testUser.id, role: "user").count == 2)
        #expect(try await testUser.chat("Good \(sim(["words": 2]))", ["conversation_id": conversation]).first("done") != nil)
    }
}

extension StateFolder {
    /// Puts a file in place of the folder of receipts: not even root can write into it.
    fileprivate func refuseReceipts() throws {
        let folder = try #require(files.first { $0.hasSuffix("receipts") })
        let spool = URL(fileURLWithPath: "\(path)/\(folder)")
        try FileManager.default.removeItem(at: spool)
        try Data().write(to: spool)
    }
}

/// A file system of 256 KiB in memory, mounted on a folder until the value is freed.
private final class SmallDisk {
    private let path: String

    /// Nil, with a message in the log, when mounting is not permitted.
    init?(at path: String) throws {
        self.path = path
        guard getuid() == 0, mount("tmpfs", path, "tmpfs", 0, "size=256k") == 0 else {
            let reason = getuid() == 0 ? String(cString: strerror(errno)) : "only root may mount"
            print("skipped: no small disk to fill, \(reason)")
            return nil
        }
        ProcessCleanup.runAtEnd("umount -l '\(path)' 2>/dev/null")
    }

    deinit { umount2(path, Int32(MNT_DETACH)) }

    /// Writes until the file system is full.
    func fill() throws {
        let descriptor = open("\(path)/filler", O_WRONLY | O_CREAT, 0o600)
        defer { close(descriptor) }
        let zeros = [UInt8](repeating: 0, count: 4096)
        while write(descriptor, zeros, zeros.count) > 0 {}
    }
}
