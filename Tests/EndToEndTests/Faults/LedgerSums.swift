import Foundation
import Testing

/// The ledger at the end of a run.
struct LedgerRows {
    /// With the text of their messages.
    var turns: [JSONObject]
    /// Calls with a receipt, by turn.
    var bills: [String: [JSONObject]]
    /// All calls of the attempts of turns, and of summaries, by turn.
    var calls: [String: [JSONObject]]
    var summaries: [String: [JSONObject]]

    init(_ database: Database) async throws {
        turns = try await database.rows(
            """
            select t.id, t.user_id, t.status, t.attempt, t.finalized_by, m.content
            from turns t join messages m on m.id = t.user_message_id
            """)
        bills = Dictionary(grouping: try await database.rows("select * from model_calls")) { $0["turn_id"] ?? "" }
        let rows = try await database.rows(
            """
            select turn_id, call, purpose, count(*) filter (where revision = 0) as recorded, max(revision) as last, max(model) as model
            from usage_logs group by turn_id, attempt, call, purpose
            """)
        calls = Dictionary(grouping: rows.filter { $0["purpose"] != "summary" }) { $0["turn_id"] ?? "" }
        summaries = Dictionary(grouping: rows.filter { $0["purpose"] == "summary" }) { $0["turn_id"] ?? "" }
    }
}

/// Compares the ledger with what the provider has seen, call by call, and adds up what it has compared.
struct Sums: CustomStringConvertible {
    /// How long a text may have been sent since the last checkpoint that was written.
    private static let longestGap = 1_000.0
    /// Of estimates: what is withheld is counted in bytes.
    private static let rounding = 8

    private(set) var exact = 0
    private(set) var estimated = 0
    private(set) var second = 0
    private(set) var judged = 0
    private(set) var summaries = 0
    private(set) var crashed = 0
    private(set) var models: Set<String> = []
    /// Uncached input, cached input and output of the exact calls: in the ledger, and as the provider reported them.
    private(set) var booked = [0, 0, 0]
    private(set) var counted = [0, 0, 0]
    /// Of turns that recovery has ended: for how long the text was sent that the estimate lacks.
    private(set) var missingMilliseconds: [Double] = []

    var description: String {
        "\(exact) exact (\(booked) tokens), \(estimated) estimated, \(second) turns with second calls, \(judged) judged, \(crashed) crashed, "
            + "\(summaries) summary calls, text missing for \(missingMilliseconds.map { Int($0) }) ms"
    }

    mutating func add(
        _ turn: JSONObject, _ ledger: LedgerRows, _ seen: [ProviderJournal.Call], _ words: SimulatorWords
    ) throws {
        let id = turn["id"] ?? ""
        let seen = seen.filter { $0.purpose != .summary }
        let own = ledger.calls[id] ?? []
        #expect(own.allSatisfy { $0.number("last") ?? 0 > 0 }, "ended: \(own)")
        #expect(own.allSatisfy { $0.number("recorded") == 1 }, "each call is recorded before its request leaves: \(own)")
        #expect(own.count { $0.number("call") == 1 } == turn.number("attempt"))
        if turn["finalized_by"] == "owner" {
            // A hedge may be recorded and not needed any more: its row has no model.
            let made = own.count { $0.number("call") == 1 || $0["model"] != nil }
            #expect(made == seen.count, "each request has a row: \(own), \(seen)")
        } else {
            // Killed when calls were recorded and their requests had not left.
            #expect((seen.count...seen.count + 3).contains(own.count), "each request has a row: \(own), \(seen)")
            crashed += 1
        }
        second += seen.count { $0.purpose == .turn } > 1 ? 1 : 0
        judged += seen.contains { $0.purpose == .judge } ? 1 : 0
        let bills = ledger.bills[id]?.filter { $0["purpose"] != "summary" } ?? []
        for bill in bills { try add(bill, of: turn, seen, words) }
        if turn["finalized_by"] != "owner", bills.isEmpty {
            // Nothing was in a checkpoint.
            for call in seen where call.isAccepted && call.pace > 0 {
                #expect(Double(call.tokens) * call.pace <= Self.longestGap, "text without a bill: \(call)")
            }
        }
    }

    private mutating func add(
        _ bill: JSONObject, of turn: JSONObject, _ seen: [ProviderJournal.Call], _ words: SimulatorWords
    ) throws {
        let isJudge = bill["purpose"] == "judge"
        let seen = seen.filter { $0.isAccepted && $0.model == bill["model"] && ($0.purpose == .judge) == isJudge }
        let call = try #require(seen.first, "billed, and the provider saw nothing: \(bill)")
        #expect(seen.count == 1, "\(seen)")
        let figures = ["input_tokens", "cached_input_tokens", "output_tokens"].map { bill.number($0) ?? -1 }
        guard bill.flag("estimated") == true else { return addExact(bill, figures, call) }
        estimated += 1
        let isAnswer = bill.number("call") == 1
        #expect(turn["status"] != "complete" || !isAnswer || !call.reportsUsage, "a whole answer is not estimated: \(turn)")
        guard !isJudge else { return }
        let (sent, tokens) = (words.estimate(of: call.tokens), figures[2])
        #expect(tokens <= sent + Self.rounding, "\(tokens) of \(sent): \(bill), \(call)")
        if turn["finalized_by"] == "owner", isAnswer, turn["status"] != "failed" {
            // An owner has all that its own call was sent.
            #expect(tokens >= sent - Self.rounding, "\(tokens) of \(sent): \(bill), \(call)")
        } else if call.pace > 0 {
            // What was sent beyond the last checkpoint, or was on its way, is missing.
            let perToken = Double(max(1, sent)) / Double(max(1, call.tokens))
            let missing = Double(max(0, sent - tokens - Self.rounding)) / perToken * call.pace
            #expect(missing <= Self.longestGap, "\(tokens) of \(sent): \(bill), \(call)")
            if turn["finalized_by"] != "owner" { missingMilliseconds.append(missing) }
        }
    }

    private mutating func addExact(_ bill: JSONObject, _ figures: [Int], _ call: ProviderJournal.Call) {
        exact += 1
        #expect(call.isFinished, "exact, but the provider did not finish: \(bill)")
        #expect(figures == call.figures, "\(bill)")
        booked = zip(booked, figures).map(+)
        counted = zip(counted, call.figures).map(+)
        if call.purpose == .turn { models.insert("\(bill["provider"] ?? "-") \(call.model)") }
    }

    /// Summaries have their rows under one of the conversation's turns; the prompts name the newest message that they summarise.
    mutating func addSummaries(_ ledger: LedgerRows, _ seen: [ProviderJournal.Call], _ words: SimulatorWords) throws {
        let userOfTurn = Dictionary(uniqueKeysWithValues: ledger.turns.map { ($0["id"] ?? "", $0["user_id"] ?? "") })
        let userOfMark = Dictionary(
            ledger.turns.map { (ProviderJournal.mark(in: $0["content"] ?? "") ?? "", $0["user_id"] ?? "") }
        ) { first, _ in first }
        func byUser(_ rows: [String: [JSONObject]]) -> [String: [JSONObject]] {
            Dictionary(rows.map { (userOfTurn[$0.key] ?? "", $0.value) }) { $0 + $1 }
        }
        let (rows, bills) = (byUser(ledger.summaries), byUser(ledger.bills))
        let calls = Dictionary(grouping: seen) { userOfMark[$0.mark] ?? "" }
        #expect(calls[""] == nil, "a summary without a turn")
        var unneeded = 0
        for user in Set(userOfTurn.values) {
            let (own, made) = (rows[user] ?? [], calls[user] ?? [])
            #expect(own.allSatisfy { $0.number("recorded") == 1 && $0.number("last") ?? 0 > 0 }, "recorded and ended: \(own)")
            #expect(own.count >= made.count && own.count { $0["model"] != nil } <= made.count, "each request has a row: \(own), \(made)")
            unneeded += own.count - made.count
            // Exact ones first: an estimated one could be of any of several calls, so the largest is that of the longest text. A summary that is
            // made again, because its gateway was killed, has the same figures: the exact bill is that of the call which was answered.
            var left = made.sorted { $0.tokens > $1.tokens }
            let ended = (bills[user] ?? []).filter { $0["purpose"] == "summary" }
            let estimates = ended.filter { $0.flag("estimated") == true }
                .sorted { $0.number("output_tokens") ?? 0 > $1.number("output_tokens") ?? 0 }
            for bill in ended.filter({ $0.flag("estimated") != true }) + estimates {
                let figures = ["input_tokens", "cached_input_tokens", "output_tokens"].map { bill.number($0) ?? -1 }
                let isEstimated = bill.flag("estimated") == true
                let index = try #require(
                    left.firstIndex {
                        $0.isAccepted && $0.model == bill["model"]
                            && (isEstimated
                                ? figures[2] <= words.estimate(of: $0.tokens) + Self.rounding : $0.isFinished && figures == $0.figures)
                    }, "billed, and the provider saw nothing: \(bill), \(left)")
                let call = left.remove(at: index)
                if isEstimated { estimated += 1 } else { addExact(bill, figures, call) }
            }
            summaries += made.count
        }
        // Hedges that were not needed any more, and calls whose gateway was killed before they left.
        #expect(unneeded <= 2 + summaries / 2, "\(unneeded) of \(summaries)")
    }
}
