import Foundation
import Synchronization
import TestSupport
import Testing

/// The ledger against what the provider counted: two gateways, random faults of the provider, and kills. COACH_TEST_LEDGER_TURNS says how many turns;
/// 10,000 take several minutes.
@Suite("The ledger against the provider", .paced)
struct LedgerReconciliationTests {
    private static let turns = ProcessInfo.processInfo.environment["COACH_TEST_LEDGER_TURNS"].flatMap { Int($0) } ?? 240
    private static let people = 8
    /// One kill for so many turns.
    private static let turnsPerKill = 60

    /// What the provider is told to do with one turn, and to report for it.
    private struct Plan: Sendable {
        var mark: String
        var input: Int
        var cached: Int
        var output: Int
        var reportsUsage: Bool
        var message: String

        init() {
            mark = marker()
            (input, cached, output) = (.random(in: 1...5_000), .random(in: 0...500), .random(in: 1...2_000))
            let words = Int.random(in: 3...40)
            var script: [String: Any] = [
                "words": words, "pace_ms": Int.random(in: 0...8),
                "usage": [
                    "prompt_tokens": input + cached, "completion_tokens": output, "cached_tokens": cached, "reasoning_tokens": 0,
                ],
            ]
            switch Int.random(in: 0..<10) {
            case 0: script["cut_after_tokens"] = Int.random(in: 1..<words)
            case 1: script["error_after_tokens"] = Int.random(in: 1..<words)
            case 2: script["http_error"] = ["status": 500]
            case 3: script["no_usage"] = true
            default: break
            }
            reportsUsage = script["no_usage"] == nil
            message = "Hello \(mark) \(sim(script))"
        }
    }

    @Test("agree on every call: exact where usage was reported, estimated where a turn was cut")
    func reconciliation() async throws {
        let simulator = try await Simulator()
        let database = try await Database.ofItsOwn()
        let places = try [Place(), Place()]
        for place in places { try await place.start(database, simulator) }
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
                        do { _ = try await place.user().say(plans[index].message, timeout: 20) } catch is Wire.Failure {}
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
                    try await place.start(database, simulator)
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
        let recorded = Dictionary(
            grouping: try await database.rows("select turn_id, attempt from usage_logs where revision = 0")
        ) { $0["turn_id"] ?? "" }
        let rows = Dictionary(
            grouping: try await database.rows("select distinct turn_id, attempt, call from usage_logs")
        ) { $0["turn_id"] ?? "" }
        let plansByMark = Dictionary(uniqueKeysWithValues: plans.map { ($0.mark, $0) })
        var (exact, estimated, booked, counted, requests) = (0, 0, [0, 0, 0], [0, 0, 0], 0)
        for turn in turns {
            let mark = try #require(journal.mark(in: turn["content"] ?? ""))
            let plan = try #require(plansByMark[mark])
            let (id, all) = (turn["id"] ?? "", calls[mark] ?? [])
            let seen = all.filter(\.isAccepted)
            #expect(recorded[id]?.count == turn.number("attempt"), "each attempt is recorded once, before its call")
            #expect(seen.count <= turn.number("attempt") ?? 0, "a call that the ledger does not have: \(turn)")
            if turn.number("attempt") == 1, turn["finalized_by"] == "owner" {
                // A killed gateway has the rows of its first calls alone.
                #expect(rows[id]?.count == all.count, "each request has a row: \(turn), \(all)")
                requests += all.count
            }
            for bill in bills[id] ?? [] {
                #expect(!seen.isEmpty, "billed, and the provider saw nothing: \(bill)")
                if bill.flag("estimated") == true {
                    estimated += 1
                    #expect(turn["status"] != "complete" || !plan.reportsUsage, "a whole answer is not estimated: \(turn)")
                    // What was sent beyond the last checkpoint, and what was on its way: a quarter of a second and a little more, at 8 ms a token
                    // at most 60 of them. A token has about four bytes, and the learnt ratio is at most 2.
                    let sent = seen.map(\.tokens).max() ?? 0
                    let tokens = bill.number("output_tokens") ?? 0
                    #expect(tokens <= 4 * sent + 8 && (sent <= 60 || tokens > 0), "\(tokens) of \(sent): \(bill)")
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
        let marks = Set(turns.compactMap { journal.mark(in: $0["content"] ?? "") })
        #expect(Set(calls.keys).subtracting(marks).isEmpty, "a call without a turn")
        #expect(try await database.isBalanced())
        #expect(exact > Self.turns / 8 && estimated > 0 && requests > 0, "\(exact) exact, \(estimated) estimated")
        print(
            "\(turns.count) turns, \(journal.calls.count) calls, \(requests) of owners: \(exact) exact (\(booked) tokens), \(estimated) estimated"
        )
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

        init() throws { folder = try StateFolder() }

        func start(_ database: Database, _ simulator: Simulator) async throws {
            let started = try await Gateway(database: database.gatewayURL, simulator: simulator.url, environment: folder.state())
            gateway.withLock { $0 = started }
        }

        func kill() async throws { try await gateway.withLock { $0 }?.program.kill9() }

        func user() throws -> TestUser { TestUser(gateway: try #require(gateway.withLock { $0 })) }
    }

    /// The calls that the provider has seen. Its journal is bounded, so it is read while it fills.
    private final class Journal: Sendable {
        struct Call {
            var mark: String
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
                let sequence = entry.number("sequence") ?? 0
                let call = Call(
                    mark: mark, isAccepted: entry.number("status") == 200, isFinished: entry.flag("finished") == true,
                    tokens: entry.number("tokens_sent") ?? 0)
                state.withLock { $0.calls[sequence] = call }
            }
            let running = entries.first { $0["outcome"] == "running" }?.number("sequence").map { $0 - 1 }
            state.withLock { $0.after = running ?? entries.last?.number("sequence") ?? after }
        }
    }
}
