import Testing

@testable import CoachCore

/// What follows from the scores of encoder, linear model and grammar, with the shipped thresholds.
@Suite("Risk by the encoder")
struct EncodedRiskTests {
    private let passage = MessageEncoder.Passage(scores: [Float](repeating: 0, count: MessageEncoder.outputNames.count), isWhole: true)

    /// The linear model's probability, the same for all outputs.
    private func linear(_ probability: Float) -> [Float] {
        [Float](repeating: probability, count: CrisisClassifier.outputNames.count)
    }

    private func score(_ passages: [MessageEncoder.Passage], linear probability: Float) throws -> Float {
        try #require(Shipped.encoder.risk(passages, grammar: .calm, linear: linear(probability), mayLower: false).score)
    }

    @Test("the linear model has a share in what is a crisis, and a bounded one")
    func share() throws {
        let scores = try [0, 0.0001, 0.1, 0.5, 0.9, 0.9999, 1].map { try score([passage], linear: $0) }
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

    @Test("a hit about suicide or self-harm is lowered by a surer encoder only, and none by a part of a message")
    func lowered() throws {
        let probabilities = stride(from: Float(0), through: 1, by: 0.01)
        func lowers(_ categories: [RiskCategory], _ passage: MessageEncoder.Passage) -> [Float] {
            probabilities.filter { Shipped.encoder.isCalm([passage], linear: linear($0), despite: categories) }
        }
        let (other, strict) = (lowers([.abuse], passage), lowers([.abuse, .suicide], passage))
        #expect(strict.count < other.count && !strict.isEmpty && other.count < 101)
        #expect(lowers([.selfHarm], passage) == strict)
        var part = passage
        part.isWhole = false
        #expect(lowers([.abuse], part).isEmpty)
    }

    @Test("only a hit at tier 2 is lowered, to a concern", arguments: [RiskTier.crisis, .high, .imminent])
    func tiers(tier: RiskTier) {
        var hit = RiskAssessment.calm
        hit.tier = tier
        hit.categories = [.abuse]
        let risk = Shipped.encoder.risk([passage], grammar: hit, linear: linear(0.01), mayLower: true)
        #expect(risk.tier == (tier == .crisis ? .concern : tier))
    }
}
