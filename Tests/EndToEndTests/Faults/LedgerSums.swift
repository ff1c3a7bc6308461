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
    /// What a prompt may differ from its messages in the journal, in tokens, before a learnt ratio is applied.
    private static let promptRounding = 100

    private(set) var exact = 0
    private(set) var estimated = 0
    private(set) var second = 0
    private(set) var judged = 0
    private(set) var stopped = 0
    private(set) var summaries = 0
    private(set) var crashed = 0
    /// Judges that had answered, but too late for their turn.
    private(set) var lateJudges = 0
    /// Finished summaries without a bill, and estimates of dead processes for calls that the provider did not accept.
    private(set) var lost = 0
    private(set) var models: Set<String> = []
    /// Of complete turns' answers and their judges: of the ledger's exact rows, and of the provider's calls that were finished and reported.
    private(set) var booked = CallTokens()
    private(set) var counted = CallTokens()
    /// Of turns that recovery has ended: for how long the text was sent that the estimate lacks.
    private(set) var missingMilliseconds: [Double] = []

    var description: String {
        "\(exact) exact (\(booked) tokens), \(estimated) estimated, \(second) turns with second calls, \(judged) judged (\(lateJudges) late), "
            + "\(stopped) stopped, \(crashed) crashed, \(summaries) summary calls (\(lost) lost), "
            + "text missing for \(missingMilliseconds.map { Int($0) }) ms"
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
            // The row of a hedge that was not needed any more has no model, nor has that of a judge whose answer did not begin in time.
            let made = own.count { $0.number("call") == 1 || $0["model"] != nil }
            // A request that is stopped as it leaves may not arrive.
            let fewest = turn["status"] == "stopped" ? 0 : made
            #expect((fewest...own.count).contains(seen.count), "each request has a row: \(own), \(seen)")
        } else {
            // Killed when calls were recorded and their requests had not left.
            #expect((seen.count...seen.count + 3).contains(own.count), "each request has a row: \(own), \(seen)")
            crashed += 1
        }
        second += seen.count { $0.purpose == .turn } > 1 ? 1 : 0
        judged += seen.contains { $0.purpose == .judge } ? 1 : 0
        stopped += turn["status"] == "stopped" ? 1 : 0
        let bills = ledger.bills[id]?.filter { $0["purpose"] != "summary" } ?? []
        for bill in bills { try add(bill, of: turn, seen, words) }
        count(seen, of: turn, bills)
        if turn["finalized_by"] != "owner", bills.isEmpty {
            // Nothing was in a checkpoint.
            for call in seen where call.isAccepted && call.pace > 0 {
                #expect(Double(call.tokens) * call.pace <= Self.longestGap, "text without a bill: \(call)")
            }
        }
    }

    /// What the ledger must have of the calls that the provider has seen, whatever bills there are.
    private mutating func count(_ seen: [ProviderJournal.Call], of turn: JSONObject, _ bills: [JSONObject]) {
        guard turn["finalized_by"] == "owner" else { return }
        let answers = seen.filter { $0.purpose == .turn }
        let bill = bills.first { $0.number("call") == 1 }
        let isComplete = turn["status"] == "complete"
        if isComplete, answers.contains(where: \.isFinished) { #expect(bill != nil, "a whole answer without a bill: \(turn), \(answers)") }
        if turn["status"] == "interrupted", answers.count == 1, answers[0].tokens > 0 {
            #expect(bill != nil, "a part of an answer without a bill: \(turn), \(answers)")
        }
        guard isComplete else { return }
        // The other model's call was too late, and is billed as far as it was known when it was cancelled.
        for call in answers where call.isReported && call.model == bill?["model"] { add(call) }
        for call in seen where call.purpose == .judge && call.isReported {
            let isExact = bills.contains { $0["purpose"] == "judge" && $0["model"] == call.model && $0.flag("estimated") != true }
            if isExact { add(call) } else { lateJudges += 1 }
        }
    }

    private mutating func add(_ call: ProviderJournal.Call) { counted = counted + call.figures }

    private mutating func add(
        _ bill: JSONObject, of turn: JSONObject, _ seen: [ProviderJournal.Call], _ words: SimulatorWords
    ) throws {
        let isJudge = bill["purpose"] == "judge"
        let seen = seen.filter { $0.isAccepted && $0.model == bill["model"] && ($0.purpose == .judge) == isJudge }
        let call = try #require(seen.first, "billed, and the provider saw nothing: \(bill)")
        #expect(seen.count == 1, "\(seen)")
        let figures = Self.figures(bill)
        let isAnswer = bill.number("call") == 1
        guard bill.flag("estimated") == true else {
            addExact(bill, figures, call)
            if turn["finalized_by"] == "owner", turn["status"] == "complete", isAnswer || isJudge { booked = booked + figures }
            return
        }
        estimated += 1
        expectInput(figures, of: call)
        #expect(turn["status"] != "complete" || !isAnswer || !call.reportsUsage, "a whole answer is not estimated: \(turn)")
        guard !isJudge else { return }
        let (sent, tokens) = (words.estimate(of: call.tokens), figures.output)
        #expect(tokens <= sent + Self.rounding, "\(tokens) of \(sent): \(bill), \(call)")
        if turn["finalized_by"] == "owner", isAnswer, turn["status"] != "failed", turn["status"] != "stopped" {
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

    /// Not each dialect reports each class, nor that nothing was cached.
    private static func figures(_ bill: JSONObject) -> CallTokens {
        CallTokens(
            input: bill.number("input_tokens") ?? -1, cachedInput: bill.number("cached_input_tokens") ?? 0,
            cacheWrite: bill.number("cache_write_tokens") ?? 0, output: bill.number("output_tokens") ?? -1,
            reasoning: bill.number("reasoning_tokens") ?? 0)
    }

    /// An estimate's input is what the provider has reported at the beginning of its answer, or that of the messages, with a ratio that was learnt from
    /// reports between a half and twice as many tokens; a report raises it.
    private func expectInput(_ figures: CallTokens, of call: ProviderJournal.Call) {
        #expect(Self.mayBeInput(figures, of: call), "input \(figures) of \(call)")
    }

    private static func mayBeInput(_ figures: CallTokens, of call: ProviderJournal.Call) -> Bool {
        guard figures.prompt != call.figures.prompt else { return true }
        let input = figures.prompt.reduce(0, +)
        let known = call.figures
        let most = max(2 * (call.promptTokens + Self.promptRounding), known.input) + known.cachedInput + known.cacheWrite
        return (max(1, (call.promptTokens - Self.promptRounding) / 2)...most).contains(input)
    }

    private mutating func addExact(_ bill: JSONObject, _ figures: CallTokens, _ call: ProviderJournal.Call) {
        exact += 1
        #expect(call.isFinished, "exact, but the provider did not finish: \(bill)")
        #expect(figures == call.figures, "\(bill)")
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
            #expect(own.count >= made.count, "each request has a row: \(own), \(made)")
            unneeded += own.count - made.count
            let left = try match((bills[user] ?? []).filter { $0["purpose"] == "summary" }, made, words)
            // The slower of two calls at the same time may have finished just as it was cancelled. All others were awaited, unless their process died.
            lost += left.count { call in
                call.isReported && !made.contains { $0.mark == call.mark && $0.model != call.model && $0.time.overlaps(call.time) }
            }
            summaries += made.count
        }
        // Hedges that were not needed any more, and calls whose gateway was killed before they left.
        #expect(unneeded <= 2 + summaries / 2, "\(unneeded) of \(summaries)")
    }

    /// The calls of a user's summaries that none of these bills can be of.
    private mutating func match(
        _ bills: [JSONObject], _ made: [ProviderJournal.Call], _ words: SimulatorWords
    ) throws -> [ProviderJournal.Call] {
        // Exact ones first: an estimated one could be of any of several calls, so the largest is that of the longest text. A summary that is made
        // again, because its gateway was killed, has the same figures: the exact bill is that of the call which was answered.
        var left = made.sorted { $0.tokens > $1.tokens }
        // Those of recovery after equal ones, because their requests may not have been accepted.
        func rank(_ bill: JSONObject) -> (Int, Int) { (-(bill.number("output_tokens") ?? 0), bill["finalized_by"] == "recovery" ? 1 : 0) }
        let estimates = bills.filter { $0.flag("estimated") == true }.sorted { rank($0) < rank($1) }
        // An estimate whose input was reported at the beginning of an answer is that answer's.
        let known = estimates.filter { bill in made.contains { $0.figures.prompt == Self.figures(bill).prompt } }
        let unknown = estimates.filter { bill in !made.contains { $0.figures.prompt == Self.figures(bill).prompt } }
        for bill in bills.filter({ $0.flag("estimated") != true }) + known + unknown {
            let (figures, isEstimated) = (Self.figures(bill), bill.flag("estimated") == true)
            func fits(_ call: ProviderJournal.Call) -> Bool {
                call.isAccepted && call.model == bill["model"]
                    && (isEstimated
                        ? figures.output <= words.estimate(of: call.tokens) + Self.rounding : call.isFinished && figures == call.figures)
            }
            let index =
                left.firstIndex { fits($0) && figures.prompt == $0.figures.prompt }
                ?? left.firstIndex { fits($0) && Self.mayBeInput(figures, of: $0) } ?? left.firstIndex(where: fits)
            if index == nil, bill["finalized_by"] == "recovery" {
                // Killed before the first provider accepted its request, or when another one was asked.
                lost += 1
                continue
            }
            let call = left.remove(at: try #require(index, "billed, and the provider saw nothing: \(bill), \(left), \(bills)"))
            if isEstimated {
                estimated += 1
                expectInput(figures, of: call)
            } else {
                addExact(bill, figures, call)
            }
        }
        return left
    }
}
