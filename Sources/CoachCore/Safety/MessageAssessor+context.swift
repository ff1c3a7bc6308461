/// The assessment of fragments, as "I bought them today", with their user's message before them.
extension MessageAssessor {
    /// Words, and bytes, of the longest fragment.
    private static let fragmentLength = 12
    private static let fragmentBytes = 200
    /// Minimum probability of a crisis, by the encoders from a fragment and the message before it, at which the fragment has a card. Chosen by 300
    /// messages of two writers: 119 of 121 cards in danger stay, and 49 of 90 harmless ones; of a third writer's 35 of 36 and 7 of 15
    /// (`follow-ups.txt` of the tests).
    private static let lowestInContext: Float = 0.37
    /// Messages of the user that are looked at, and characters at the end of each: as long as those by which the threshold was chosen.
    private static let earlierMessages = 4
    private static let earlierCharacters = 200

    /// What the grammar finds in a fragment, which is less than a crisis. nil for other messages: all but a few words that the models alone take for
    /// a crisis.
    public func fragment(_ message: String, _ assessment: MessageAssessment) -> MessageAssessment? {
        guard assessment.risk.tier >= .crisis, message.utf8.count <= Self.fragmentBytes else { return nil }
        let found = search(message)
        guard found.risk.tier < .crisis, found.forms.count == 1, found.forms[0].tokens.count <= Self.fragmentLength else { return nil }
        return MessageAssessment(risk: found.risk, domains: assessment.domains)
    }

    /// Whether a message has no words but vague ones (`VagueWords`), so that the models alone, without a message before it, do not show it as acute.
    public func isVague(_ message: String) -> Bool { NormalisedMessage(message).plain.isVague }

    /// `assessment`, or, of a fragment that is vague or harmless after the messages before it, a lower one. `earlier`: the user's messages, oldest
    /// first. For users whose stored level is calm. To be called where `encode` is.
    public func assess(
        _ message: String, _ assessment: MessageAssessment, after earlier: [String], usesLargeEncoder: () -> Bool = { true }
    ) -> MessageAssessment {
        guard let fragment = fragment(message, assessment) else { return assessment }
        if textBefore(earlier) == nil { return withoutContext(message, assessment) }
        guard let probability = crisisProbability(message, after: earlier, usesLargeEncoder: usesLargeEncoder),
            probability < Self.lowestInContext
        else { return assessment }
        // Not a concern: its level would let the next fragment have a card. The score is that of the message by itself, for the judge.
        var risk = fragment.risk
        risk.score = assessment.risk.score
        return MessageAssessment(risk: risk, domains: fragment.domains)
    }

    /// `assessment`, or that of a vague fragment with nothing before it: of tier 2 at most, as a card is right for "I took it" and an alarm is not; what the
    /// grammar finds when it names a supplement ("I took my creatine").
    public func withoutContext(_ message: String, _ assessment: MessageAssessment) -> MessageAssessment {
        guard let fragment = fragment(message, assessment), isVague(message) else { return assessment }
        var risk = NormalisedMessage(message).plain.namesSupplement ? fragment.risk : assessment.risk
        risk.tier = min(risk.tier, .crisis)
        risk.score = assessment.risk.score
        return MessageAssessment(risk: risk, domains: assessment.domains)
    }

    /// What the grammar finds in a message that says that its user is safe and nothing else; nil for other messages. The models take the persons and
    /// places of such a message for danger while the stored level is raised. `coachMessage`: the one that it answers.
    public func assurance(_ message: String, _ assessment: MessageAssessment, after coachMessage: String?) -> MessageAssessment? {
        guard message.utf8.count <= Self.fragmentBytes else { return nil }
        let answers = coachMessage.map { question(in: $0).asksOnlyForSafety } ?? false
        let found = search(message)
        guard found.risk.tier < .crisis, found.forms.count == 1, found.forms[0].isAssurance(answers: answers) else { return nil }
        var risk = found.risk
        risk.score = assessment.risk.score
        return MessageAssessment(risk: risk, domains: assessment.domains)
    }

    /// The newest message of more than two words with those after it; nil without one.
    private func textBefore(_ earlier: [String]) -> String? {
        let ends = earlier.suffix(Self.earlierMessages).map { $0.lastWords(characters: Self.earlierCharacters) }
        guard let first = ends.lastIndex(where: { search($0).domains.wordCount >= Self.fewestWords }) else { return nil }
        return ends[first...].joined(separator: "\n")
    }

    /// The probability of a crisis in the message, read with its user's last one of more than two words and those after that, by the last encoder that
    /// reads them. nil where none of the last four is as long, the large encoder is missing or has no time, a word was not read, or the grammar finds a crisis.
    public func crisisProbability(
        _ message: String, after earlier: [String], usesLargeEncoder: () -> Bool = { true }
    ) -> Float? {
        guard let before = textBefore(earlier) else { return nil }
        let text = "\(before)\n\(message)"
        let found = search(text.withoutJSONNames ?? text)
        guard largeEncoder != nil, found.risk.tier < .crisis else { return nil }
        var hadTime = true
        let readings = readings(found, features(of: found)) {
            hadTime = usesLargeEncoder()
            return hadTime
        }
        return hadTime && readings.allSatisfy(\.isComplete) ? readings.last?.crisisProbability : nil
    }
}

extension String {
    /// Its end, without the word that the limit cuts.
    fileprivate func lastWords(characters: Int) -> String {
        let end = suffix(characters)
        return String(end.startIndex == startIndex ? end : end.drop { !$0.isWhitespace })
    }
}
