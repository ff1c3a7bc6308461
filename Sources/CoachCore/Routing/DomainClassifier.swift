/// The linear model of domains. The sums of `DomainScorer` are added to its scores, so that terms that an operator adds or removes have an effect.
/// `MessageEncoder` adds both to its own scores. The terms' findings are also features of the model.
public struct DomainClassifier: Sendable {
    /// The names of all outputs, in the order of the file. The last is "no domain".
    public static let outputNames = Domain.allCases.map(\.rawValue) + [none]
    public static let none = "none"

    let classifier: LinearClassifier

    /// Rejects a model with other outputs than `outputNames`.
    public init(_ classifier: LinearClassifier, file: String) throws(ConfigurationRejected) {
        try classifier.require(DomainClassifier.outputNames, file: file)
        self.classifier = classifier
    }

    /// `terms`: the scores of `DomainScorer`.
    func scores(_ features: MessageFeatures, terms: DomainScores) -> DomainScores {
        DomainClassifier.scores(classifier.scores(features, .mean), outputs: classifier.outputs, terms: terms)
    }

    /// Calibrated scores, without the terms'.
    func logits(_ features: MessageFeatures) -> [Float] {
        zip(classifier.outputs, classifier.scores(features, .mean)).map { $0.slope * $1 + $0.offset }
    }

    /// Calibrated scores with those of the terms; the terms' alone when they are clear and the model's best domain is the same. `raw` and `outputs`
    /// are in the order of `outputNames`.
    public static func scores(_ raw: [Float], outputs: [LinearClassifier.Output], terms: DomainScores) -> DomainScores {
        let alone = DomainRouter.decide(terms).domain
        let best = raw.dropLast().indices.max { raw[$0] < raw[$1] }.map { Domain.allCases[$0] }
        if let alone, alone == best { return terms }
        let logits = zip(zip(outputs, raw), terms.all).map { $0.0.slope * $0.1 + $0.0.offset + termWeight * $1 }
        return DomainScores(
            values: Array(logits.dropLast()), none: logits.last ?? 0, wordCount: terms.wordCount,
            minimumProbability: Double(outputs.first?.threshold ?? 1))
    }

    /// The factor of a term's weight. It is 1, as without a model, so that an edited term has the effect that its editor expects.
    public static let termWeight: Float = 1
}
