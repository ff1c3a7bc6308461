extension MessageEncoder {
    /// Whether a concern or more was found, or danger cannot be ruled out.
    func isOpen(_ first: RiskAssessment) -> Bool { first.tier >= .concern || (first.score ?? 0) >= limits.lowestScore }

    /// Whether a message was encoded whole, and so little resembles a crisis that a hit of the grammar in `categories` may be lowered.
    func isCalm(_ passages: [Passage], despite categories: [RiskCategory]) -> Bool {
        guard !categories.contains(.suicide) else { return false }
        let share = categories.contains(.selfHarm) ? MessageEncoder.strictShare : 1
        return passages.allSatisfy { passage in
            let probability = outputs[MessageEncoder.crisis].probability(passage.scores[MessageEncoder.crisis])
            return passage.isWhole && probability < share * limits.lowestConfirmed
        }
    }

    private static let crisis = CrisisClassifier.Label.allCases.firstIndex(of: .crisis) ?? 0

    /// "I cut myself" is lowered by a surer encoder only: of 156 left-out messages about suicide and self-harm that the grammar found at tier 2,
    /// it was so sure of none. "I want to die" is not unsaid by what surrounds it, whatever the encoder reads.
    private static let strictShare: Float = 0.25

    /// The risk by the encoder, with that of the grammar. With `mayLower` (`isCalm`) a hit of the grammar at tier 2 is lowered to a concern; one
    /// at tier 3 and above never is. `linear`: the probabilities of the linear model, which names categories better.
    func risk(_ passages: [Passage], grammar: RiskAssessment, linear: [Float], mayLower: Bool) -> RiskAssessment {
        let outputs = self.outputs.prefix(CrisisClassifier.outputNames.count)
        let probabilities = outputs.enumerated().map { index, output in
            RiskCategory(rawValue: output.name) == nil
                ? output.probability(passages.reduce(-.infinity) { max($0, $1.scores[index]) }) : linear[index]
        }
        let risk = CrisisClassifier.assess(probabilities, outputs: Array(outputs))
        guard mayLower, grammar.tier == .crisis, risk.tier < .crisis else { return grammar.merged(with: risk) }
        var lowered = risk
        lowered.tier = .concern
        lowered.patterns += grammar.patterns.filter(CrisisGrammar.isFollowUp)
        return lowered
    }
}
