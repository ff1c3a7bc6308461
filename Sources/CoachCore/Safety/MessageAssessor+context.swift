/// The assessment of fragments, as "I bought them today", by what their user said before.
extension MessageAssessor {
    /// Words of the longest fragment.
    private static let fragmentLength = 12
    /// Minimum probability of a crisis at which a fragment with the message before it stays one. Of the 300 messages by which it was chosen
    /// (`follow-ups.txt` of the tests) 119 of 122 in danger keep their card, and 49 of 91 harmless ones.
    private static let lowestInContext: Float = 0.4

    /// What is known of a fragment without the message before it: what the grammar finds in it. nil for other messages: all but a few words that the
    /// models alone take for a crisis.
    public func fragment(_ message: String, _ assessment: MessageAssessment) -> MessageAssessment? {
        guard assessment.risk.tier >= .crisis, let category = assessment.risk.categories.first else { return nil }
        let found = search(message)
        guard found.risk.tier < .crisis, found.forms.count == 1, found.forms[0].tokens.count <= Self.fragmentLength else { return nil }
        var risk = found.risk
        // While the stored level is 1 or more it is what the models take it for.
        risk.patterns.append(CrisisClassifier.followUpID(category))
        return MessageAssessment(risk: risk, domains: assessment.domains)
    }

    /// `assessment` of a message or, of a fragment that is harmless after what its user said before, that of the fragment. `earlier`: the user's
    /// messages, oldest first. For the encoders' queue, as `encode`.
    public func assess(
        _ message: String, _ assessment: MessageAssessment, after earlier: [String], usesLargeEncoder: () -> Bool = { true }
    ) -> MessageAssessment {
        guard let fragment = fragment(message, assessment),
            let before = earlier.last(where: { search($0).domains.wordCount >= Self.fewestWords }),
            let probability = crisisProbability("\(before)\n\(message)", usesLargeEncoder: usesLargeEncoder),
            probability < Self.lowestInContext
        else { return assessment }
        var risk = fragment.risk
        risk.score = probability
        return MessageAssessment(risk: risk, domains: fragment.domains)
    }

    /// By the encoders; nil without them, when the large one has no time, and of what the grammar takes for a crisis.
    private func crisisProbability(_ text: String, usesLargeEncoder: () -> Bool) -> Float? {
        let found = search(text.withoutJSONNames ?? text)
        guard found.risk.tier < .crisis else { return nil }
        var isComplete = true
        let readings = readings(found, features(of: found)) {
            isComplete = usesLargeEncoder()
            return isComplete
        }
        return isComplete ? readings.last?.crisisProbability : nil
    }
}
