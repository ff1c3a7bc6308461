extension MessageEncoder {
    /// Whether a concern or more was found, or danger cannot be ruled out.
    func isOpen(_ first: RiskAssessment) -> Bool { first.tier >= .concern || (first.score ?? 0) >= limits.lowestScore }

    /// Whether a message was encoded whole, and does not resemble a crisis.
    func isCalm(_ passages: [Passage]) -> Bool {
        passages.allSatisfy { passage in
            passage.isWhole && outputs[MessageEncoder.crisis].probability(passage.scores[MessageEncoder.crisis]) < limits.lowestConfirmed
        }
    }

    private static let crisis = CrisisClassifier.Label.allCases.firstIndex(of: .crisis) ?? 0

    /// What the grammar's hits stand for whatever the encoder reads: what is said in so many words ("I want to die") is not unsaid by what
    /// surrounds it.
    private static let neverLowered: Set<RiskCategory> = [.suicide, .selfHarm]

    /// The risk by the encoder, with that of the grammar. With `mayLower` (`isCalm`) a hit of the grammar at tier 2 is lowered to a concern, but
    /// for suicide and self-harm; one at tier 3 and above never is. `linear`: the probabilities of the linear model, which names categories better.
    func risk(_ passages: [Passage], grammar: RiskAssessment, linear: [Float], mayLower: Bool) -> RiskAssessment {
        let outputs = self.outputs.prefix(CrisisClassifier.outputNames.count)
        let probabilities = outputs.enumerated().map { index, output in
            RiskCategory(rawValue: output.name) == nil
                ? output.probability(passages.reduce(-.infinity) { max($0, $1.scores[index]) }) : linear[index]
        }
        let risk = CrisisClassifier.assess(probabilities, outputs: Array(outputs))
        guard mayLower, grammar.tier == .crisis, risk.tier < .crisis, MessageEncoder.neverLowered.isDisjoint(with: grammar.categories)
        else { return grammar.merged(with: risk) }
        var lowered = risk
        lowered.tier = .concern
        lowered.patterns += grammar.patterns.filter(CrisisGrammar.isFollowUp)
        return lowered
    }
}
