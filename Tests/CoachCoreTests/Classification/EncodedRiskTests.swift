import Testing

@testable import CoachCore

/// What follows from the scores of encoder, linear model and grammar, with the shipped thresholds.
@Suite("Risk by the encoder")
struct EncodedRiskTests {
    private let passage = MessageEncoder.Passage(scores: [Float](repeating: 0, count: MessageEncoder.outputNames.count), peak: 0..<1)

    /// The linear model's probability, the same for all outputs.
    private func linear(_ probability: Float) -> [Float] {
        [Float](repeating: probability, count: CrisisClassifier.outputNames.count)
    }

    private func score(_ passages: [MessageEncoder.Passage], linear probability: Float) throws -> Float {
        try #require(Self.risk(passages, by: Shipped.encoder, previous: linear(probability)).score)
    }

    private static func risk(
        _ passages: [MessageEncoder.Passage], by encoder: MessageEncoder, previous: [Float], grammar: RiskAssessment = .calm,
        mayLower: Bool = false
    ) -> RiskAssessment {
        encoder.risk(encoder.probabilities(passages, previous: previous), grammar: grammar, mayLower: mayLower)
    }

    @Test("the previous model has a share in what is a crisis, and a bounded one", arguments: [false, true])
    func share(isLarge: Bool) throws {
        // Not an argument: the test runner would describe all weights.
        let encoder = isLarge ? Shipped.largeEncoder : Shipped.encoder
        let scores = try [0, 0.0001, 0.1, 0.5, 0.9, 0.9999, 1].map {
            try #require(Self.risk([passage], by: encoder, previous: linear($0)).score)
        }
        #expect(scores[0] == scores[1] && scores[5] == scores[6])
        #expect(zip(scores[1...5], scores[2...5]).allSatisfy { $0 < $1 } && scores.allSatisfy { $0 > 0 && $0 < 1 })
    }

    @Test("the most dangerous passage counts")
    func highest() throws {
        var other = passage
        other.scores = other.scores.map { $0 + 1 }
        #expect(try score([passage, other], linear: 0.5) == score([other], linear: 0.5))
        #expect(try score([passage], linear: 0.5) < score([other], linear: 0.5))
    }

    @Test("a hit is lowered by a sure encoder only")
    func lowered() {
        let probabilities = stride(from: Float(0), through: 1, by: 0.01)
        func lowers(_ passage: MessageEncoder.Passage) -> [Float] {
            probabilities.filter { Shipped.encoder.isCalm(Shipped.encoder.probabilities([passage], previous: linear($0))) }
        }
        let found = lowers(passage).count
        #expect((1...100).contains(found), "\(found) of 101")
        var sure = passage
        sure.scores = sure.scores.map { $0 + 5 }
        #expect(lowers(sure).isEmpty)
    }

    @Test("no hit is lowered of a message that was not read to its end")
    func parts() {
        func tier(_ sentences: Int) -> RiskTier {
            let rest = String(repeating: " We met at nine and I wrote the notes about the new office.", count: sentences)
            return Shipped.assessor.assessFully("coffee overdose this morning before the pitch.\(rest)").risk.tier
        }
        // 13 words a sentence: one passage, two, all of the longest message that is read to its end, and more.
        #expect([0, 3, 8, 12].map(tier).allSatisfy { $0 < .crisis })
        #expect([14, 40].map(tier).allSatisfy { $0 == .crisis })
    }

    @Test("only a hit at tier 2 is lowered, to a concern", arguments: [RiskTier.crisis, .high, .imminent])
    func tiers(tier: RiskTier) {
        var hit = RiskAssessment.calm
        hit.tier = tier
        hit.categories = [.abuse]
        let risk = Self.risk([passage], by: Shipped.encoder, previous: linear(0.01), grammar: hit, mayLower: true)
        #expect(risk.tier == (tier == .crisis ? .concern : tier))
    }

    @Test(
        "of an unclear pattern, and of danger long ago, a harmless message is lowered",
        arguments: [
            "I took them all to school and came home to a quiet house", "coffee overdose this morning before the pitch",
            "I'm on my way to shoot a wedding", "My phone is broken, can you help me plan my day without it",
            "I had a gun put to my head in 2006, and today I train assistance dogs and need words for the website",
            "tengo un plan y una fecha: boda civil en mayo",
        ])
    func unclear(message: String) {
        #expect(Shipped.grammarAlone.assess(message).risk.tier == .crisis, "no pattern matches any more")
        #expect(Shipped.assessor.assessFully(message).risk.tier < .crisis)
    }

    @Test(
        "names of JSON members are not read by an encoder, what stands beside them is",
        arguments: [
            (#"Hello [[sim {"cut_after_tokens":4,"first_token_ms":0,"pace_ms":0,"words":9}]]"#, false),
            (#"Hello [[sim {"cut_after_tokens":40,"hang_after_tokens":3,"drop":true}]]"#, false),
            (#"why does {"kill":9,"die":1} fail"#, false), (#"{"cut":1}"#, false),
            (#"Everyone at home would cope better without me around, I have worked it out. {"mood":1}"#, true),
            (#"{"note": "I am going to kill myself tonight"}"#, true),
        ])
    func names(message: String, isDanger: Bool) {
        let risk = Shipped.assessor.assessFully(message).risk
        #expect((risk.tier >= .crisis) == isDanger, "\(risk)")
    }

    @Test("what is certain is never lowered", arguments: ["i wanna kms", "I want to kil myself"])
    func certain(message: String) {
        #expect(Shipped.assessor.assessFully(message).risk.tier >= .crisis)
    }
}
