/// The linear model for danger. It raises the risk where the grammar misses danger, and decides which messages the encoders read (`MessageEncoder`).
public struct CrisisClassifier: Sendable {
    /// The labels that a model of danger must have besides the categories, in the order of the file.
    public enum Label: String, CaseIterable, Sendable {
        /// Tier 1 and above.
        case concern
        /// Tier 2 and above.
        case crisis
        /// Tier 3 and above.
        case high
        /// Tier 4.
        case imminent
        /// Danger of another person.
        case other

        /// The index of its output.
        public var index: Int { Label.allCases.firstIndex(of: self) ?? 0 }
    }

    /// The names of all outputs, in the order of the file.
    public static let outputNames = Label.allCases.map(\.rawValue) + RiskCategory.allCases.map(\.rawValue)
    /// Prefix of the pattern ids that mark an assessment as raised by the model.
    static let patternPrefix = "model."

    let classifier: LinearClassifier

    /// Rejects a model with other outputs than `outputNames`.
    public init(_ classifier: LinearClassifier, file: String) throws(ConfigurationRejected) {
        try classifier.require(CrisisClassifier.outputNames, file: file)
        self.classifier = classifier
    }

    /// False when all thresholds are above every probability.
    var isActive: Bool { classifier.outputs.contains { $0.threshold <= 1 || $0.thresholdAfterConcern <= 1 } }

    /// The highest probability of each output over the forms of a message.
    func probabilities(_ forms: [MessageFeatures]) -> [Float] {
        let scores = forms.map { classifier.scores($0, .highest) }
        return classifier.outputs.enumerated().map { index, output in
            output.probability(scores.reduce(-.infinity) { max($0, $1[index]) })
        }
    }

    /// The first words of a form's windows, the window that most resembles a crisis first.
    func windows(_ features: MessageFeatures) -> [Int] {
        classifier.ranked(features, by: Label.crisis.index).map(MessageFeatures.firstWord(ofWindow:))
    }

    /// The risk that the model finds in a message, given as its forms (plain and deobfuscated).
    func assess(_ forms: [MessageFeatures]) -> RiskAssessment {
        CrisisClassifier.assess(probabilities(forms), outputs: classifier.outputs)
    }

    /// The risk for calibrated probabilities; both arrays are in the order of `outputNames`.
    public static func assess(_ probabilities: [Float], outputs: [LinearClassifier.Output]) -> RiskAssessment {
        func exceeds(_ label: Label, _ threshold: KeyPath<LinearClassifier.Output, Float> = \.threshold) -> Bool {
            probabilities[label.index] >= outputs[label.index][keyPath: threshold]
        }
        let first = Label.allCases.count
        let ranked = RiskCategory.allCases.indices.sorted { probabilities[first + $0] > probabilities[first + $1] }
        var categories = ranked.filter { probabilities[first + $0] >= outputs[first + $0].threshold }
        if categories.isEmpty { categories = Array(ranked.prefix(1)) }
        var risk = RiskAssessment.calm
        risk.score = probabilities[Label.crisis.index]
        if exceeds(.crisis) {
            risk.tier = exceeds(.imminent) ? .imminent : exceeds(.high) ? .high : .crisis
            risk.categories = categories.map { RiskCategory.allCases[$0] }
            risk.subject = exceeds(.other) ? .other : .unclear
            risk.patterns = risk.categories.map { CrisisClassifier.patternPrefix + $0.rawValue }
        } else if exceeds(.concern) {
            risk.tier = .concern
            risk.patterns = [CrisisClassifier.patternPrefix + Label.concern.rawValue]
        }
        if risk.tier < .crisis, exceeds(.crisis, \.thresholdAfterConcern), let category = categories.first {
            risk.patterns.append(CrisisClassifier.followUpID(RiskCategory.allCases[category]))
        }
        return risk
    }

    /// Prefix of the pattern ids of danger that counts only while the stored level is 1 or more.
    static let followUpPrefix = "\(patternPrefix)after_concern."

    private static func followUpID(_ category: RiskCategory) -> String { "\(followUpPrefix)\(category.rawValue)" }

    /// The follow-ups for `SafetyFusion` of danger that counts only while the stored level is 1 or more.
    static let followUps: [CrisisGrammar.FollowUp] = RiskCategory.allCases.map { category in
        CrisisGrammar.FollowUp(
            id: followUpID(category), language: "", category: category, tierAtConcern: .crisis, tierAtCrisis: .crisis, answer: nil,
            patterns: [])
    }
}
