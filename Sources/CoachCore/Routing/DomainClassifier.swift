/// The trained model of domains. It replaces the sums of `DomainScorer`, whose findings are among its features.
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

    func scores(_ features: MessageFeatures, wordCount: Int) -> DomainScores {
        DomainClassifier.scores(classifier.scores(features, .mean), outputs: classifier.outputs, wordCount: wordCount)
    }

    /// Calibrated scores; both arrays are in the order of `outputNames`.
    public static func scores(_ raw: [Float], outputs: [LinearClassifier.Output], wordCount: Int) -> DomainScores {
        let logits = zip(outputs, raw).map { $0.slope * $1 + $0.offset }
        return DomainScores(
            values: Array(logits.dropLast()), none: logits.last ?? 0, wordCount: wordCount,
            minimumProbability: Double(outputs.first?.threshold ?? 1))
    }
}
