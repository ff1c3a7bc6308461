/// A model that assesses messages whose score is below the threshold of the card a second time. It may raise the tier, and never lowers it.
public struct SafetyJudge: Sendable {
    /// Prefix of the pattern ids that mark an assessment as raised by the judge.
    static let patternPrefix = "judge."

    public var model: LanguageModel
    /// Messages with a lower score are not judged.
    public var lowestScore: Float
    /// How long a turn waits for the verdict.
    public var timeLimit: Duration

    public init(model: LanguageModel, lowestScore: Float, timeLimit: Duration) {
        self.model = model
        self.lowestScore = lowestScore
        self.timeLimit = timeLimit
    }

    /// Whether a message is in the grey zone: no card by itself, and a score that does not rule danger out.
    public func shouldJudge(_ risk: RiskAssessment) -> Bool { risk.tier < .crisis && (risk.score ?? 0) >= lowestScore }
}
