extension MessageEncoder {
    /// How well a message fits each domain, by the encoder with the linear model (`DomainClassifier.logits`) and the terms, so that an operator's
    /// examples and terms keep an effect; nil when the message was not encoded whole.
    func domains(_ passages: [Passage], linear: [Float]?, terms: DomainScores) -> DomainScores? {
        guard let passage = passages.first, passage.isWhole else { return nil }
        let start = CrisisClassifier.outputNames.count
        let scores = (terms.values + [terms.none]).enumerated().map { index, term in
            let output = outputs[start + index]
            return output.slope * passage.scores[start + index] + output.offset + limits.linearDomainWeight * (linear?[index] ?? 0)
                + limits.termWeight * term
        }
        return DomainScores(
            values: Array(scores.dropLast()), none: scores.last ?? 0, wordCount: terms.wordCount,
            minimumProbability: Double(outputs[start].threshold))
    }
}
