import Foundation

/// A transformer that assesses a message from the order of its words, where the grammar and the linear model see few words at a time. It is slow
/// (`TextEncoder`), so it assesses only messages that the first assessment leaves open.
public struct CrisisEncoder: Sendable {
    /// When a message is encoded, and when a hit of the grammar stands. Calibrated by `train.py`.
    struct Limits: Sendable, Equatable {
        /// Minimum probability of the linear model at which a message without a card is encoded.
        var lowestScore: Float
        /// Minimum probability of a crisis, by the encoder, at which a hit of the grammar at tier 2 stands.
        var lowestConfirmed: Float
    }

    /// Words that are encoded together, and how many of them stand before the window that the linear model found most dangerous.
    private static let passageLength = 80
    private static let wordsBefore = 24
    /// Passages of one message.
    private static let maximumPassages = 2

    private let limits: Limits
    private let outputs: [LinearClassifier.Output]
    private let encoder: TextEncoder

    /// Rejects a file that is damaged or has other outputs than `CrisisClassifier.outputNames`.
    public init(file bytes: Data, named file: String) throws(ConfigurationRejected) {
        let (outputs, limits, encoder) = try TextEncoder.load(file: bytes, named: file)
        guard outputs.map(\.name) == CrisisClassifier.outputNames else {
            throw ConfigurationRejected(findings: [
                ConfigurationFinding(file, "", .invalid("must have the outputs \(CrisisClassifier.outputNames.joined(separator: ", "))"))
            ])
        }
        self.init(outputs: outputs, limits: Limits(lowestScore: limits[0], lowestConfirmed: limits[1]), encoder: encoder)
    }

    init(outputs: [LinearClassifier.Output], limits: Limits, encoder: TextEncoder) {
        (self.outputs, self.limits, self.encoder) = (outputs, limits, encoder)
    }

    /// Whether a message is to be encoded: danger was found, or cannot be ruled out.
    func isNeeded(after first: RiskAssessment) -> Bool { first.tier >= .crisis || (first.score ?? 0) >= limits.lowestScore }

    /// The risk by the encoder, with that of the grammar. A hit of the grammar at tier 2 is lowered to a concern when all of the message was encoded
    /// and none of it resembles a crisis; at tier 3 and above none is. `windows`: the first words of the
    /// message's windows, the most dangerous first. `linear`: the probabilities of the linear model, which names categories better.
    func assess(_ words: TokenSequence, windows: [Int], grammar: RiskAssessment, linear: [Float]) -> RiskAssessment {
        let passages = self.passages(words, windows)
        let probabilities = outputs.enumerated().map { index, output in
            RiskCategory(rawValue: output.name) == nil
                ? output.probability(passages.reduce(-.infinity) { max($0, $1.scores[index]) }) : linear[index]
        }
        let risk = CrisisClassifier.assess(probabilities, outputs: outputs)
        guard grammar.tier == .crisis, risk.tier < .crisis, passages.allSatisfy(\.isWhole), (risk.score ?? 0) < limits.lowestConfirmed
        else {
            return grammar.merged(with: risk)
        }
        var lowered = risk
        lowered.tier = .concern
        lowered.patterns += grammar.patterns.filter(CrisisGrammar.isFollowUp)
        return lowered
    }

    /// The scores of a message's passages: of a short one one after another, of a long one those around its most dangerous windows. `isWhole`:
    /// the passage is the whole message.
    private func passages(_ words: TokenSequence, _ windows: [Int]) -> [(scores: [Float], isWhole: Bool)] {
        let count = words.tokens.count
        guard count > CrisisEncoder.passageLength else {
            let (scores, encoded) = encoder.scores(words.words(0..<count))
            guard encoded < count else { return [(scores, true)] }
            return [(scores, false), (encoder.scores(words.words(encoded..<count)).scores, false)]
        }
        var starts: [Int] = []
        for window in windows where starts.count < CrisisEncoder.maximumPassages {
            let start = max(0, min(window - CrisisEncoder.wordsBefore, count - CrisisEncoder.passageLength))
            let isCovered = starts.contains { abs($0 - start) < CrisisEncoder.passageLength - CrisisEncoder.wordsBefore }
            if !isCovered { starts.append(start) }
        }
        return starts.map { (encoder.scores(words.words($0..<($0 + CrisisEncoder.passageLength))).scores, false) }
    }
}

extension TokenSequence {
    /// The UTF-8 of folded words.
    func words(_ range: Range<Int>) -> some Sequence<ArraySlice<UInt8>> { tokens[range].lazy.map { bytes[$0.bytes] } }
}
