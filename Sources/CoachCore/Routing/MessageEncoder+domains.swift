import Foundation

extension MessageEncoder {
    /// How well a message fits each domain and none, by the encoder with the previous model (`DomainClassifier.logits`, or, of the large encoder,
    /// these sums of the small one) and the terms, so that an operator's examples and terms keep an effect.
    func domainSums(_ passage: Passage, previous: [Float]?, terms: DomainScores) -> [Float] {
        zip(domainLogits(passage), terms.all).enumerated().map { index, scores in
            scores.0 + limits.previousDomainWeight * (previous?[index] ?? 0) + limits.termWeight * scores.1
        }
    }

    func domains(_ sums: [Float], terms: DomainScores) -> DomainScores {
        DomainScores(
            values: Array(sums.dropLast()), none: sums.last ?? 0, wordCount: terms.wordCount,
            minimumProbability: Double(outputs[CrisisClassifier.outputNames.count].threshold))
    }

    /// The highest probability of a domain, or of none, by the encoder alone, so that it does not depend on an operator's domains.
    func domainProbability(_ passage: Passage) -> Float {
        let logits = domainLogits(passage)
        let highest = logits.max() ?? 0
        return 1 / logits.reduce(0) { $0 + exp($1 - highest) }
    }

    private func domainLogits(_ passage: Passage) -> [Float] {
        let start = CrisisClassifier.outputNames.count
        return zip(outputs[start...], passage.scores[start...]).map { $0.slope * $1 + $0.offset }
    }
}
