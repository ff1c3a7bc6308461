import Testing

@testable import CoachCore

@Suite("A judge's verdict")
struct JudgeVerdictTests {
    private func verdict(_ text: String) -> RiskAssessment? { RiskAssessment(verdict: Array(text.utf8)) }

    @Test("is the first JSON object of the answer")
    func reads() {
        let found = verdict(#"Here: {"tier": 3, "category": "abuse", "subject": "other"} Hope it helps {"tier": 0}"#)
        #expect(found == RiskAssessment(tier: .high, categories: [.abuse], subject: .other, patterns: ["judge.abuse"]))
        #expect(verdict(#"{"tier": 1, "category": null}"#)?.categories == [])
        #expect(verdict(#"{"tier": 2}"#)?.categories == [.suicide])
    }

    @Test(
        "is none for anything else",
        arguments: ["", "{", "}{", "tier 3", "{}", #"{"tier": 5}"#, #"{"tier": "3"}"#, #"{"tier": 2, "category": "sadness"}"#])
    func none(text: String) {
        #expect(verdict(text) == nil)
    }

    @Test("raises and never lowers")
    func raises() throws {
        let low = RiskAssessment(tier: .concern, categories: [], subject: .unclear, patterns: ["model.concern"], score: 0.2)
        let high = RiskAssessment(tier: .high, categories: [.suicide], subject: .user, patterns: ["en.x"])
        let judged = try #require(verdict(#"{"tier": 2, "category": "self_harm", "subject": "self"}"#))
        let raised = low.raised(by: judged)
        #expect(raised.tier == .crisis && raised.categories == [.selfHarm] && raised.score == 0.2)
        #expect(raised.patterns == ["judge.self_harm", "model.concern"])
        #expect(high.raised(by: judged) == high)
    }

    @Test("is asked for in the grey zone only: no card by itself, and a score that does not rule danger out")
    func zone() {
        let judge = SafetyJudge(
            model: LanguageModel(firstChoice: ModelName(provider: "p", model: "m")) { _, _, _ in Generation {} }, lowestScore: 0.1,
            timeLimit: .seconds(1))
        func judged(_ tier: RiskTier, _ score: Float?) -> Bool {
            judge.shouldJudge(RiskAssessment(tier: tier, categories: [], subject: .unclear, patterns: [], score: score))
        }
        #expect(judged(.none, 0.1) && judged(.concern, 0.5) && !judged(.none, 0.09) && !judged(.none, nil) && !judged(.crisis, 0.5))
    }
}
