import Foundation
import TestSupport
import Testing

/// A turn needs a second provider while PostgreSQL does not answer.
@Suite("A second call while the database is away", .paced)
struct SpooledCallTests {
    /// A server of its own, and a gateway whose first model refuses a second and a half after it was asked.
    private struct Ground {
        let simulator: Simulator
        let cluster: ThrowawayCluster
        let database: Database
        let folder: StateFolder
        private let root: Folder

        init() async throws {
            simulator = try await Simulator()
            cluster = try await ThrowawayCluster.start()
            database = try await Database(try await cluster.freshDatabase())
            folder = try StateFolder()
            root = try Folder.routing(["sim-first", "sim-second"], through: simulator)
        }

        func gateway() async throws -> Gateway {
            try await Gateway(database: database.gatewayURL, simulator: nil, environment: folder.state(root.environment))
        }

        static func message(_ mark: String, second: [String: Any] = [:]) -> String {
            let first: [String: Any] = ["model": "sim-first", "http_error": ["status": 503], "first_token_ms": 1_500]
            return "\(mark) \(sim(first)) \(sim(second.merging(["model": "sim-second"]) { $1 }))"
        }

        /// Begins a turn, and takes the database away before its first model has refused.
        func openStream(_ user: TestUser, _ message: String) async throws -> StreamReader {
            let mark = message.split(separator: " ").first.map(String.init) ?? ""
            let reader = try await user.openStream(message).until { !$0.events.isEmpty }
            try await eventually("the first call") { try await simulator.requests(containing: mark).count == 1 }
            cluster.sigstop()
            return reader
        }

        func rows() async throws -> [String] {
            try await database.rows(
                """
                select concat_ws('|', call, revision, coalesce(model, '-'), coalesce(finalized_by::text, '-')) as row
                from usage_logs order by call, revision
                """
            ).compactMap { $0["row"] }
        }
    }

    @Test("is on disk before its request leaves, and in the ledger once after its gateway was killed", arguments: [false, true])
    func killed(hasText: Bool) async throws {
        let ground = try await Ground()
        let gateway = try await ground.gateway()
        let (user, mark) = (gateway.testUser(), marker())
        let reader = try await ground.openStream(
            user, Ground.message(mark, second: hasText ? ["words": 400, "pace_ms": 20] : ["hang": true]))
        try await eventually("the second call") { try await ground.simulator.requests(containing: mark).count == 2 }
        let file = try #require(ground.folder.files.first { $0.hasSuffix(".call") })
        let mode = try FileManager.default.attributesOfItem(atPath: "\(ground.folder.path)/\(file)")[.posixPermissions] as? Int
        #expect(mode == 0o600)
        if hasText { try await reader.until(bytes: 30) }
        try await gateway.program.kill9()
        ground.cluster.sigcont()
        let restarted = try await ground.gateway()
        defer { withExtendedLifetime(restarted) {} }
        _ = try await ground.database.settledAnswer(of: user.id, within: 40)
        try await eventually("an empty spool") { !ground.folder.files.contains { $0.hasSuffix(".call") } }
        let rows = try await ground.rows()
        // A checkpoint that waited in the stopped database's socket may have named the model that refused.
        #expect(rows.dropLast() == ["1|0|-|-", "1|1|-|-", "3|0|-|-"] && ["3|1|-|-", "3|1|sim-first|-"].contains(rows.last), "\(rows)")
        #expect(try await ground.database.isBalanced())
    }

    @Test("ends as what it was when the database is back: its row is neither lost nor doubled")
    func survived() async throws {
        let ground = try await Ground()
        let gateway = try await ground.gateway()
        let (user, mark) = (gateway.testUser(), marker())
        let reader = try await ground.openStream(user, Ground.message(mark, second: ["words": 5]))
        try await reader.toEnd()
        #expect(reader.end?.type == "done" && reader.eventTypes == ["start", "token", "usage", "done"])
        ground.cluster.sigcont()
        let (turn, content) = try await ground.database.settledAnswer(of: user.id, within: 40)
        #expect(turn["status"] == "complete" && content == reader.text)
        try await eventually("an empty spool") { !ground.folder.files.contains { $0.hasSuffix(".call") || $0.hasSuffix(".receipt") } }
        #expect(try await ground.rows() == ["1|0|-|-", "1|1|sim-second|owner", "3|0|-|-", "3|1|sim-first|-"])
        #expect(try await ground.database.isBalanced())
    }

    @Test("is not made when the disk fails, too: an error, and in danger the fixed text", arguments: [false, true])
    func neither(isInDanger: Bool) async throws {
        let ground = try await Ground()
        let gateway = try await ground.gateway()
        let (user, mark) = (gateway.testUser(), marker())
        // A file in place of the folder: not even root can write into it.
        let spool = try #require(ground.folder.files.first { $0.hasSuffix("calls") })
        try FileManager.default.removeItem(atPath: "\(ground.folder.path)/\(spool)")
        try Data().write(to: URL(fileURLWithPath: "\(ground.folder.path)/\(spool)"))
        let reader = try await ground.openStream(user, Ground.message(mark) + (isInDanger ? " I want to kill myself tonight" : ""))
        try await reader.toEnd()
        if isInDanger {
            #expect(reader.end?.type == "done" && reader.end?["finish_reason"] == "safety" && !reader.text.isEmpty)
        } else {
            #expect(reader.end?.type == "error" && reader.end?["code"] == "EXT_4001" && reader.text.isEmpty)
        }
        #expect(try await ground.simulator.requests(containing: mark).count == 1)
        #expect(gateway.log.contains { $0["level"] == "critical" && $0["message"]?.contains("could not be recorded") == true })
        ground.cluster.sigcont()
        _ = try await ground.database.settledAnswer(of: user.id, within: 40)
        // The statement that records the second call may have reached the server before it stood still: it runs when that goes on, and is ended with the
        // turn, without a model and a cost.
        let rows = try await ground.rows()
        #expect(rows.prefix(2) == ["1|0|-|-", "1|1|-|-"])
        #expect([[], ["3|0|-|-", "3|1|-|-"]].contains(Array(rows.dropFirst(2))), "\(rows)")
        #expect(try await ground.database.isBalanced())
    }
}
