import Foundation
import Synchronization
import TestSupport
import Testing

/// The ledger against what the provider counted: two gateways with hedged routes of two models in four dialects, a judge and rolling summaries, random
/// faults of all, users who stop, and kills. COACH_TEST_LEDGER_TURNS sets the number of turns that begin; 10,000 take several minutes.
@Suite("The ledger against the provider", .paced)
struct LedgerReconciliationTests {
    private static let turns = ProcessInfo.processInfo.environment["COACH_TEST_LEDGER_TURNS"].flatMap { Int($0) } ?? 240
    private static let people = 8
    /// One kill for so many turns.
    private static let turnsPerKill = 60
    private static let kills = max(1, turns / turnsPerKill - 1)
    /// Of a conversation, whose history is summarised after the first ones.
    private static let turnsPerConversation = 6
    private static let mostWords = 300

    /// The first has no route of its own.
    private static let domains = ["leadership", "mindset", "fitness", "creativity"]

    /// Each route has two dialects, and each dialect is in two routes.
    private static func root(_ simulator: Simulator) throws -> Folder {
        let root = try Folder.copyOfRoot()
        let dialects = ["openai", "anthropic", "gemini", "bedrock"]
        func choice(_ index: Int, _ model: String) -> [String: Any] {
            ["provider": "sim-\(dialects[index % dialects.count])", "model": model, "max_output_tokens": 1024]
        }
        let routes = domains.indices.map { [choice($0, "sim-first"), choice($0 + 1, "sim-second")] }
        try root.edit("deploy/models.json") { file in
            file["providers"] = Dictionary(
                uniqueKeysWithValues: dialects.map { dialect -> (String, [String: Any]) in
                    var provider: [String: Any] = [
                        "dialect": dialect, "base_url": "http://127.0.0.1:\(simulator.port)", "api_key_env": "KEY",
                    ]
                    if dialect == "bedrock" { provider.merge(["region": "us-east-1", "api_key_env": "AWS_KEY"]) { $1 } }
                    return ("sim-\(dialect)", provider)
                })
            let names = ["default"] + domains.dropFirst().map { "domain.\($0)" }
            file["routes"] = Dictionary(uniqueKeysWithValues: zip(names, routes)).merging(["judge": [choice(0, ProviderJournal.judgeModel)]]
            ) {
                $1
            }
            file["hedged_routes"] = names
            file["judge"] = ["route": "judge", "lowest_score": 0]
        }
        try root.edit("deploy/prices.json") { file in
            let rows = file["prices"] as? [[String: Any]] ?? []
            let simulated = rows.filter { $0["provider"] as? String == "simulator" }
            file["prices"] = rows + dialects.flatMap { dialect in simulated.map { $0.merging(["provider": "sim-\(dialect)"]) { $1 } } }
        }
        try root.edit("deploy/tiers.json") { file in
            var tiers = file["tiers"] as? [[String: Any]] ?? []
            for index in tiers.indices {
                tiers[index]["history"] = ["tokens": 500, "messages": 100]
                tiers[index]["tokens_per_day"] = 100_000_000
            }
            file["tiers"] = tiers
            file["tokens_reserved_per_turn"] = 20_000
            file["usd_reserved_per_turn"] = "0.01"
        }
        return root
    }

    /// What the models are told to do with one turn, and to report for it.
    private struct Plan: Sendable {
        var message: String

        init(_ words: SimulatorWords) {
            // The second model is slower to begin, so that it also runs when its gateway is killed.
            let first = Self.script("sim-first", words, faults: 6)
            let second = Self.script("sim-second", words, faults: 3).merging(["first_token_ms": Int.random(in: 0...400)]) { $1 }
            message = "Hello \(marker()) \(sim(first)) \(sim(second))"
        }

        /// With a fault in so many of ten turns.
        private static func script(_ model: String, _ sample: SimulatorWords, faults: Int) -> [String: Any] {
            // Some are long enough that a kill loses a part of them only.
            let isLong = Int.random(in: 0..<6) == 0
            let words = isLong ? Int.random(in: 200...mostWords) : Int.random(in: 3...40)
            // What a gateway would estimate, so that no ratio is learnt and estimates can be compared with what was sent; anything where it is too
            // short to be learnt from.
            let estimate = sample.estimate(of: words)
            let (cached, written) = (Int.random(in: 0...500), Int.random(in: 0...500))
            let isLearnt = estimate >= 32
            let reasoning = isLearnt ? 0 : Int.random(in: 0...300)
            let usage = [
                "prompt_tokens": Int.random(in: 1...5_000) + cached + written,
                "completion_tokens": isLearnt ? estimate : .random(in: 1...2_000) + reasoning,
                "cached_tokens": cached, "reasoning_tokens": reasoning,
            ]
            var script: [String: Any] = [
                "model": model, "words": words, "pace_ms": isLong ? 8 : Int.random(in: 0...8), "usage": usage,
                "cache_write_tokens": written,
            ]
            guard Int.random(in: 0..<10) < faults else { return script }
            switch Int.random(in: 0..<7) {
            case 0: script["cut_after_tokens"] = Int.random(in: 1..<words)
            case 1: script["error_after_tokens"] = Int.random(in: 0..<words)
            case 2: script["http_error"] = ["status": 500]
            case 3: script["http_error"] = ["status": 429]
            case 4: script["drop"] = true
            case 5: script["no_usage"] = true
            // Late, so that the other one is called, too.
            default: script["first_token_ms"] = 600
            }
            return script
        }
    }

    @Test("agree on every call: exact where usage was reported, estimated where a turn was cut")
    func reconciliation() async throws {
        let simulator = try await Simulator()
        try await simulator.always(ProviderJournal.judgeScript)
        let words = try await SimulatorWords(Self.mostWords, of: simulator)
        let database = try await Database.ofItsOwn()
        let root = try Self.root(simulator)
        let places = try [Place(root), Place(root)]
        for place in places { try await place.start(database) }
        let (begun, sent) = (Count(), Count())
        let journal = ProviderJournal(simulator)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<Self.people {
                group.addTask {
                    var talk = Talk()
                    // Some messages begin no turn, because their gateway is killed.
                    while begun.value < Self.turns, sent.next() < 4 * Self.turns {
                        let place = places.filter(\.isRunning).randomElement() ?? places[0]
                        if try await talk.say(Plan(words).message, at: place) { _ = begun.next() }
                    }
                }
            }
            // By one task, because an older answer must not replace a newer one.
            group.addTask {
                for turn in stride(from: 50, through: Self.turns, by: 50) {
                    try await eventually(within: .seconds(300), "turn \(turn)") { begun.value >= turn }
                    try await journal.read()
                }
            }
            group.addTask {
                for kill in 1...Self.kills {
                    try await eventually(within: .seconds(300), "turn \(kill * Self.turnsPerKill)") {
                        begun.value >= min(kill * Self.turnsPerKill, Self.turns)
                    }
                    let place = places[kill % 2]
                    try await place.kill()
                    try await place.start(database)
                }
            }
            try await group.waitForAll()
        }
        try await settle(database, places)
        try await journal.read()
        let ledger = try await LedgerRows(database)
        let calls = Dictionary(grouping: journal.calls) { $0.mark }
        var sums = Sums()
        for turn in ledger.turns { try sums.add(turn, ledger, calls[ProviderJournal.mark(in: turn["content"] ?? "") ?? ""] ?? [], words) }
        try sums.addSummaries(ledger, journal.calls.filter { $0.purpose == .summary }, words)
        #expect(sums.booked == sums.counted)
        #expect(sums.booked.cacheWrite > 0 && sums.booked.reasoning > 0, "\(sums)")
        // An instance makes two at a time.
        #expect(sums.lost <= 2 * Self.kills, "finished summaries without a bill, and estimates without a call: \(sums)")
        #expect(sums.lateJudges <= 2 + sums.judged / 20, "\(sums)")
        let marks = Set(ledger.turns.compactMap { ProviderJournal.mark(in: $0["content"] ?? "") })
        #expect(Set(calls.keys).subtracting(marks).isEmpty, "a call without a turn")
        #expect(try await database.isBalanced())
        try await eventually("the fold of all rows") {
            try await database.rows(
                "select 1 as one from usage_logs l cross join gateway.rollup_state s where l.booked_in >= s.watermark limit 1"
            ).isEmpty
        }
        let folded = try await database.rollups()
        try await database.fresh.psql("call gateway.rebuild_rollups()")
        #expect(try await database.rollups() == folded && folded.count > 10)
        #expect(sums.models.count == 8, "each dialect in both places: \(sums.models)")
        let count = ledger.turns.count
        #expect(count >= Self.turns, "turns that began")
        #expect(sums.exact > count / 8 && sums.estimated > 0 && sums.second > count / 12 && sums.stopped > count / 30, "\(sums)")
        #expect(sums.judged > count / 2 && sums.summaries > count / 24, "\(sums)")
        // A checkpoint is a quarter of a second old, a busy machine's one second: what was sent meanwhile is all that is missing.
        let missing = sums.missingMilliseconds.sorted()
        #expect(missing.isEmpty || missing[missing.count / 2] <= 500, "\(missing)")
        print("\(count) turns, \(journal.calls.count) calls: \(sums)")
    }

    /// Waits for the end of all turns and summaries, and for what is on disk.
    private func settle(_ database: Database, _ places: [Place]) async throws {
        try await eventually(within: .seconds(60), "the end of all turns") {
            try await database.rows("select 1 as one from turns where status = 'running'").isEmpty
        }
        let jobs = "gateway.jobs where kind = 'summarise_conversation' and state = 'ready'"
        try await eventually(within: .seconds(120 + Self.turns / 20), "the end of all summaries") {
            // Without the pauses between tries.
            _ = try await database.fresh.psql(
                "update gateway.jobs set due_at = now() where id in (select id from \(jobs) and due_at > now())")
            return try await database.rows("select 1 as one from \(jobs)").isEmpty
        }
        try await eventually(within: .seconds(30), "empty spools") { places.allSatisfy { !$0.hasSpooled } }
        _ = try await database.fresh.psql("select gateway.end_lost_summaries()")
    }

    private final class Count: Sendable {
        private let count = Mutex(0)

        var value: Int { count.withLock { $0 } }

        /// The value before it is incremented.
        func next() -> Int {
            count.withLock { count in
                defer { count += 1 }
                return count
            }
        }
    }

    /// A conversation of a user, and the next one after some turns, or after a turn that was not answered.
    private struct Talk {
        private var domain = ""
        private var user: TestUser?
        private var conversation: String?
        private var turns = 0

        /// Whether the turn is known to have begun. Some are stopped by their user.
        mutating func say(_ message: String, at place: Place) async throws -> Bool {
            if turns == turnsPerConversation || user == nil {
                (domain, user, conversation, turns) = (domains.randomElement() ?? "", nil, nil, 0)
            }
            var hasBegun = false
            var more = ["domain": domain]
            more["conversation_id"] = conversation
            do {
                let present = try place.user(user)
                user = present
                let stream = try await present.openStream(message, more, timeout: 20).until { !$0.events.isEmpty }
                conversation = stream.events.first { $0.type == "start" }?["conversation_id"]
                hasBegun = conversation != nil
                turns += 1
                if hasBegun, Int.random(in: 0..<8) == 0 {
                    // At once, or during the answer.
                    if Bool.random() { try await stream.until(bytes: Int.random(in: 1...60)) }
                    _ = try await present.stop(stream.turnID)
                }
                try await stream.toEnd()
                // A gateway that is killed breaks the stream; its turn is ended by the other one.
                if !hasBegun || stream.end == nil { user = nil }
            } catch is Wire.Failure {
                user = nil
            }
            return hasBegun
        }
    }

    /// A gateway that is killed and started again.
    private final class Place: Sendable {
        private let gateway = Mutex<Gateway?>(nil)
        private let folder: StateFolder
        private let root: Folder

        init(_ root: Folder) throws {
            folder = try StateFolder()
            self.root = root
        }

        func start(_ database: Database) async throws {
            let started = try await Gateway(
                database: database.gatewayURL, simulator: nil,
                environment: folder.state(["COACH_ROOT": root.path, "KEY": "any", "AWS_KEY": "AKIDSIM:secret"]))
            gateway.withLock { $0 = started }
        }

        /// Not while it starts again: a request would be refused at once, and use up a turn.
        var isRunning: Bool { gateway.withLock { $0 != nil } }

        func kill() async throws {
            let killed = gateway.withLock { gateway in
                defer { gateway = nil }
                return gateway
            }
            try await killed?.program.kill9()
        }

        var hasSpooled: Bool { folder.files.contains { $0.hasSuffix(".call") || $0.hasSuffix(".receipt") } }

        /// The same user here; nil: a new one.
        func user(_ user: TestUser?) throws -> TestUser {
            // Killed since it was chosen.
            guard let gateway = gateway.withLock({ $0 }) else { throw Wire.Failure(description: "the gateway was killed") }
            return user?.at(gateway.port) ?? TestUser(gateway: gateway)
        }
    }
}
