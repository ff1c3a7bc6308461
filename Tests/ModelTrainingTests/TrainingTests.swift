import CoachCore
import Foundation
import Testing

@testable import ModelTraining

@Suite("Training")
struct TrainingTests {
    private func row(_ text: String, _ label: String = "not-crisis", tier: Int = 0, pair: String? = nil) -> TrainingRow? {
        let pair = pair.map { ",\"pair\":\"\($0)\"" } ?? ""
        let json =
            "{\"text\":\"\(text)\",\"label\":\"\(label)\",\"tier\":\(tier),\"category\":\"none\",\"form\":\"ordinary\",\"lang\":\"en\"\(pair)}"
        return TrainingRow(json: json[...], file: "a")
    }

    @Test("lines that are no rows are findings with file and line")
    func findings() {
        let (rows, findings) = TrainingRow.parse(["b.jsonl": "{}\n\n{\"text\": 1}\n", "a.jsonl": "no"])
        #expect(rows.isEmpty)
        #expect(findings == ["a.jsonl:1: not a row", "b.jsonl:1: not a row", "b.jsonl:3: not a row"])
        #expect(row("x", "crisis", tier: 1) == nil)
        #expect(row("x", "crisis", tier: 2) != nil)
    }

    @Test("near-duplicates are removed, minimal pairs stay")
    func duplicates() throws {
        let rows = [
            row("I talked to my boss about the raise today"), row("i talked to my boss about the raise today!"),
            row("I talked to my boss about the rope today"), row("The cake is in the oven and the guests are late"),
            row("I talked to my boss about the raise today", "crisis", tier: 2),
        ].compactMap(\.self)
        #expect(NearDuplicates.removed(from: rows).count == 4)
    }

    @Test("logistic regression separates rows by their features, the same for the same seed")
    func regression() {
        let examples = (0..<200).map { (index: Int) -> LogisticRegression.Example in
            let buckets: [UInt16] = [UInt16(index % 2), 2 + UInt16(index % 7)]
            return LogisticRegression.Example(buckets: buckets, cost: 8, isPositive: index.isMultiple(of: 2))
        }
        let squares = [Float](repeating: 1, count: 16)
        let first = LogisticRegression(examples, squares: squares, seed: 3)
        #expect(examples.allSatisfy { (first.score($0.buckets) > 0) == $0.isPositive })
        #expect(first.weights == LogisticRegression(examples, squares: squares, seed: 3).weights)
    }

    @Test("Platt scaling gives the observed share")
    func platt() {
        let scores: [Float] = (0..<400).map { Float($0 % 4) - 1.5 }
        let targets = (0..<400).map { (index: Int) -> Bool? in index % 16 < 4 * (index % 4) + 2 }
        let (slope, offset) = ClassifierTrainer.platt(scores, targets)
        #expect(slope.isFinite && offset.isFinite)
        let mean = scores.map { 1 / (1 + exp(-(slope * $0 + offset))) }.reduce(0, +) / 400
        let observed = Float(targets.count { $0 == true }) / 400
        #expect(abs(mean - observed) < 0.01)
    }

    @Test("rows are surrounded by ordinary rows that have no card by themselves; only crises that have a card by themselves count")
    func surrounded() throws {
        let rows = try [
            #require(row("I am in danger", "crisis", tier: 2)), #require(row("I cannot go on", "crisis", tier: 2)),
            #require(row("The cake is ready")), #require(row("Is that danger money?")),
        ]
        var asked: [[String]] = []
        let evaluation = ChangeEvaluation(rows, .surrounded) { messages in
            asked.append(messages)
            // As if a long message hid all but the first row's danger.
            return messages.map { $0.contains("I am in danger") || $0 == rows[3].text }
        }
        #expect(asked.count == 2 && asked[0] == rows.map(\.text) && asked[1].count == 3)
        let others = asked[1].map { $0.replacing("The cake is ready. ", with: "").replacing(" The cake is ready.", with: "") }
        #expect(others[0] == "I am in danger." && others[2] == "Is that danger money?")
        #expect(asked[1].allSatisfy { $0.contains("The cake is ready.") || $0 == "The cake is ready." })
        #expect(evaluation.shares == ["cards kept": 1, "not-crisis, ordinary": 0, "not-crisis, hard negative": 0])
        #expect(evaluation.cards.unchanged.total == 1 && evaluation.ordinary.unchanged.hits == 1)
        #expect(evaluation.ordinary.unchanged.total == 2)
    }

    @Test("every twentieth letter is mistyped: swapped, replaced, doubled or left out")
    func mistyped() {
        let text = String(repeating: "abcdefghij", count: 9)
        #expect(TypingErrors.mistype("short", place: 0) == "short")
        let changed = ["abcdefghijabcdefghih", "abcdefghijabcdefghijj", "abcdefghijabcdefghi", "abcdefghijabcdefghiaj", "bcdefghij"]
        #expect(TypingErrors.mistype(text, place: 0) == changed.joined())
        #expect(TypingErrors.mistype("el niño ya duerme mañana", place: 2) != "el niño ya duerme mañana")
    }

    @Test("the Wilson interval of 8 of 10")
    func wilson() {
        var proportion = Proportion()
        proportion.hits = 8
        proportion.total = 10
        #expect(abs(proportion.interval.lowerBound - 0.4902) < 0.0005)
        #expect(abs(proportion.interval.upperBound - 0.9433) < 0.0005)
    }

    @Test("a figure outside its bounds, or without rows, is a finding")
    func floors() throws {
        let floors = try EvaluationFloors(
            json: Array(
                #"[{"folds":"briefs","stratum":"not-crisis, ordinary, en","at_most":0.1},{"folds":"briefs","stratum":"x","at_least":0}]"#
                    .utf8))
        let calm = try #require(row("a calm message"))
        let evaluation = CrisisEvaluation([calm], [.calm])
        #expect(floors.findings(["briefs": evaluation.cards.mapValues(\.share)]) == ["briefs, x: no rows"])
        let crisis = RiskAssessment(tier: .crisis, categories: [.abuse], subject: .user, patterns: [])
        #expect(floors.findings(["briefs": CrisisEvaluation([calm], [crisis]).cards.mapValues(\.share)]).count == 2)
        #expect(floors.findings([:], columns: ["held-out"]).isEmpty)
    }
}
