import Foundation
import Synchronization
import TestSupport
import Testing

/// The ledger against what the provider counted: two gateways with a hedged route of two models, random faults of both, and kills.
/// COACH_TEST_LEDGER_TURNS sets the number of turns; 10,000 take several minutes.
@Suite("The ledger against the provider", .paced)
struct LedgerReconciliationTests {
    private static let turns = ProcessInfo.processInfo.environment["COACH_TEST_LEDGER_TURNS"].flatMap { Int($0) } ?? 240
    private static let people = 8
    /// One kill for so many turns.
    private static let turnsPerKill = 60

    private static let models = ["sim-first", "sim-second"]

    /// What the models are told to do with one turn, and to report for it.
    private struct Plan: Sendable {
        var mark: String
        var input: Int
        var cached: Int
        var output: Int
        var message: String

        init() {
            mark = marker()
            (input, cached, output) = (.random(in: 1...5_000), .random(in: 0...500), .random(in: 1...2_000))
            let usage = [
                "prompt_tokens": input + cached, "completion_tokens": output, "cached_tokens": cached, "reasoning_tokens": 0,
            ]
            // The second model is slower to begin, so that it also runs when its gateway is killed.
            let first = Self.script("sim-first", usage, faults: 6)
            let second = Self.script("sim-second", usage, faults: 3).merging(["first_token_ms": Int.random(in: 0...400)]) { $1 }
            message = "Hello \(mark) \(sim(first)) \(sim(second))"
        }

        /// With a fault in so many of ten turns.
        private static func script(_ model: String, _ usage: [String: Int], faults: Int) -> [String: Any] {
            // Some are long enough that a kill loses a part of them only.
            let isLong = Int.random(in: 0..<6) == 0
            let words = isLong ? Int.random(in: 200...300) : Int.random(in: 3...40)
            var script: [String: Any] = ["model": model, "words": words, "pace_ms": isLong ? 8 : Int.random(in: 0...8), "usage": usage]
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
        let database = try await Database.ofItsOwn()
        let root = try Folder.routing(Self.models, through: simulator, hedged: true)
        let places = try [Place(root), Place(root)]
        for place in places { try await place.start(database) }
        let plans = (0..<Self.turns).map { _ in Plan() }
        let begun = Count()
        let journal = Journal(simulator)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<Self.people {
                group.addTask {
                    while true {
                        let index = begun.next()
                        guard index < plans.count else { return }
                        let place = places.randomElement() ?? places[0]
                        // A gateway that is killed breaks the stream; its turn is ended by the other one.
                        do { _ = try await place.user().chat(plans[index].message, timeout: 20) } catch is Wire.Failure {}
                        if index % 50 == 0 { try await journal.read() }
                    }
                }
            }
            group.addTask {
                for kill in 1..<max(2, Self.turns / Self.turnsPerKill) {
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
        try await eventually(within: .seconds(30), "the end of all turns") {
            try await database.rows("select 1 as one from turns where status = 'running'").isEmpty
        }
        try await journal.read()

        let calls = Dictionary(grouping: journal.calls) { $0.mark }
        let turns = try await database.rows(
            "select t.id, t.status, t.attempt, t.finalized_by, m.content from turns t join messages m on m.id = t.user_message_id")
        let bills = Dictionary(grouping: try await database.rows("select * from model_calls")) { $0["turn_id"] ?? "" }
        let rows = Dictionary(
            grouping: try await database.rows(
                """
                select turn_id, call, count(*) filter (where revision = 0) as recorded, max(revision) as last, max(model) as model
                from usage_logs group by turn_id, attempt, call
                """)
        ) { $0["turn_id"] ?? "" }
        let plansByMark = Dictionary(uniqueKeysWithValues: plans.map { ($0.mark, $0) })
        var (exact, estimated, booked, counted, second, crashed, unrecorded) = (0, 0, [0, 0, 0], [0, 0, 0], 0, 0, 0)
        for turn in turns {
            let mark = try #require(journal.mark(in: turn["content"] ?? ""))
            let (id, all) = (turn["id"] ?? "", calls[mark] ?? [])
            let own = rows[id] ?? []
            #expect(own.allSatisfy { $0.number("last") ?? 0 > 0 }, "ended: \(own)")
            unrecorded += own.count { $0.number("recorded") != 1 }
            #expect(own.count { $0.number("call") == 1 } == turn.number("attempt"))
            if turn["finalized_by"] == "owner" {
                // A hedge may be recorded and not needed any more: its row has no model.
                let made = own.count { $0.number("call") == 1 || $0["model"] != nil }
                #expect(made == all.count, "each request has a row: \(own), \(all)")
            } else {
                // Killed when calls were recorded and their requests had not left.
                #expect((all.count...all.count + 2).contains(own.count), "each request has a row: \(own), \(all)")
                crashed += max(0, all.count - 1)
            }
            second += all.count > 1 ? 1 : 0
        }
        for turn in turns {
            let mark = journal.mark(in: turn["content"] ?? "") ?? ""
            guard let plan = plansByMark[mark] else { continue }
            for bill in bills[turn["id"] ?? ""] ?? [] {
                let seen = (calls[mark] ?? []).filter { $0.isAccepted && $0.model == bill["model"] }
                #expect(!seen.isEmpty, "billed, and the provider saw nothing: \(bill)")
                if bill.flag("estimated") == true {
                    estimated += 1
                    #expect(
                        turn["status"] != "complete" || bill.number("call") != 1 || seen.contains { !$0.reportsUsage },
                        "a whole answer is not estimated: \(turn)")
                    // An owner has all that its own call was sent. Else what was sent beyond the last checkpoint, or was on its way, is missing: a
                    // quarter of a second, on a busy machine one, at 8 ms a token at most 125. A token has four bytes and more, and the learnt
                    // ratio is from 0.5 to 2.
                    let sent = seen.map(\.tokens).max() ?? 0
                    let tokens = bill.number("output_tokens") ?? 0
                    let isWhole = turn["finalized_by"] == "owner" && bill.number("call") == 1 && turn["status"] != "failed"
                    let missing = isWhole ? 8 : 125
                    #expect(tokens <= 4 * sent + 8 && 4 * tokens >= sent - missing, "\(tokens) of \(sent): \(bill)")
                } else {
                    exact += 1
                    #expect(seen.contains { $0.isFinished }, "exact, but the provider did not finish: \(bill)")
                    let figures = ["input_tokens", "cached_input_tokens", "output_tokens"].map { bill.number($0) ?? -1 }
                    booked = zip(booked, figures).map(+)
                    counted = zip(counted, [plan.input, plan.cached, plan.output]).map(+)
                    #expect(figures == [plan.input, plan.cached, plan.output], "\(bill)")
                }
            }
        }
        #expect(booked == counted)
        // A request does not wait for a database that is slow: on a busy machine one in hundreds leaves without its record.
        #expect(unrecorded <= 1 + turns.count / 200, "\(unrecorded) calls were recorded only with their receipt")
        let marks = Set(turns.compactMap { journal.mark(in: $0["content"] ?? "") })
        #expect(Set(calls.keys).subtracting(marks).isEmpty, "a call without a turn")
        #expect(try await database.isBalanced())
        #expect(
            exact > turns.count / 8 && estimated > 0 && second > turns.count / 12,
            "\(exact) exact, \(estimated) estimated, \(second) second"
        )
        print(
            "\(turns.count) turns, \(second) with second calls, \(crashed) of those in crashed turns, \(journal.calls.count) calls: "
                + "\(exact) exact (\(booked) tokens), \(estimated) estimated")
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
                database: database.gatewayURL, simulator: nil, environment: folder.state(root.environment))
            gateway.withLock { $0 = started }
        }

        func kill() async throws { try await gateway.withLock { $0 }?.program.kill9() }

        func user() throws -> TestUser { TestUser(gateway: try #require(gateway.withLock { $0 })) }
    }

    /// The calls that the provider has seen. Its journal is bounded, so it is read while it fills.
    private final class Journal: Sendable {
        struct Call {
            var mark: String
            var model: String?
            var reportsUsage: Bool
            var isAccepted: Bool
            var isFinished: Bool
            var tokens: Int
        }

        private let state = Mutex<(calls: [Int: Call], after: Int)>(([:], 0))
        private let simulator: Simulator

        init(_ simulator: Simulator) { self.simulator = simulator }

        var calls: [Call] { state.withLock { Array($0.calls.values) } }

        func mark(in text: String) -> String? { text.firstMatch(of: /mark[0-9a-f]{12}/).map { String($0.0) } }

        /// From the oldest call on that ran when it was read last.
        func read() async throws {
            let after = state.withLock { $0.after }
            let answer = try await Browser(port: simulator.port).send("GET", "/simulator/requests?after=\(after)")
            let entries = answer.json.objects("requests")
            for entry in entries {
                guard let text = entry.objects("messages").last?["content"], let mark = mark(in: text) else { continue }
                let model = entry["model"]
                let script = text.split(separator: "[[sim ").first { $0.contains("\"model\":\"\(model ?? "-")\"") }
                let sequence = entry.number("sequence") ?? 0
                let call = Call(
                    mark: mark, model: model, reportsUsage: script?.contains("no_usage") != true, isAccepted: entry.number("status") == 200,
                    isFinished: entry.flag("finished") == true,
                    tokens: entry.number("tokens_sent") ?? 0)
                state.withLock { $0.calls[sequence] = call }
            }
            let running = entries.first { $0["outcome"] == "running" }?.number("sequence").map { $0 - 1 }
            state.withLock { $0.after = running ?? entries.last?.number("sequence") ?? after }
        }
    }
}
