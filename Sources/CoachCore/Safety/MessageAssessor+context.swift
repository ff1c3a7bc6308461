/// The assessment of short messages by the messages before them. A fragment is a message of a few words, such as "I got them this morning", in which the
/// encoders find a crisis and the grammar does not.
extension MessageAssessor {
    /// Words of the longest fragment.
    private static let fragmentLength = 12
    /// Bytes of the longest fragment or assurance.
    private static let fragmentBytes = 200
    /// Minimum probability of a crisis, by the encoders from a fragment and the messages before it, at which the fragment has a card. Chosen by 300
    /// messages of two writers: 119 of 121 cards in danger stay, and 49 of 90 harmless ones; of a third writer's 35 of 36 and 7 of 15
    /// (`follow-ups.txt` of the tests).
    private static let lowestInContext: Float = 0.37
    /// The number of the user's last messages that may be read before a fragment, as when `lowestInContext` was chosen.
    private static let earlierMessages = 4
    /// Characters at the end of each of these messages that are read, as when `lowestInContext` was chosen.
    private static let earlierCharacters = 200

    /// The assessment of a fragment by the grammar alone; nil for a message that is no fragment. `assessment` is the one by the encoders.
    public func assessmentByGrammar(ofFragment message: String, _ assessment: MessageAssessment) -> MessageAssessment? {
        guard assessment.risk.tier >= .crisis, let (risk, words) = searchShort(message), words.tokens.count <= Self.fragmentLength else {
            return nil
        }
        return MessageAssessment(risk: risk, domains: assessment.domains)
    }

    /// Whether a message has only words that name no danger (`VagueWords`).
    public func isVague(_ message: String) -> Bool { NormalisedMessage(message).plain.isVague }

    /// Lowers `assessment` when the message is a fragment that is vague, or harmless after the messages before it. For users whose stored level is calm.
    /// Takes as long as `encode`. `earlier` are the user's messages, oldest first.
    public func reassess(
        _ message: String, _ assessment: MessageAssessment, after earlier: [String], usesLargeEncoder: () -> Bool = { true }
    ) -> MessageAssessment {
        guard let fragment = assessmentByGrammar(ofFragment: message, assessment) else { return assessment }
        if precedingText(earlier) == nil { return reassessWithoutContext(message, assessment) }
        guard let probability = crisisProbability(message, after: earlier, usesLargeEncoder: usesLargeEncoder),
            probability < Self.lowestInContext
        else { return assessment }
        // Not a concern: with the level of a concern the next fragment would have a card.
        return assessment.replacing(fragment.risk)
    }

    /// Lowers `assessment` when the message is a vague fragment without messages before it. "I took it" may be an overdose: it is a crisis, not acute.
    /// "I took my creatine" names a food supplement: only the grammar's risk counts.
    public func reassessWithoutContext(_ message: String, _ assessment: MessageAssessment) -> MessageAssessment {
        guard let fragment = assessmentByGrammar(ofFragment: message, assessment), isVague(message) else { return assessment }
        var risk = NormalisedMessage(message).plain.namesSupplement ? fragment.risk : assessment.risk
        risk.tier = min(risk.tier, .crisis)
        return assessment.replacing(risk)
    }

    /// The assessment of a message that only says that its user is safe, by the grammar alone; nil for other messages. The models take the persons and
    /// places of such a message for danger while the stored level is raised. `coachMessage` is the one that the message answers.
    public func assurance(_ message: String, _ assessment: MessageAssessment, after coachMessage: String?) -> MessageAssessment? {
        guard let (risk, words) = searchShort(message), words.isAssurance(answersWhetherSafe: true) else { return nil }
        // Reading the coach's message takes as long as assessing one, so only when it decides.
        let isAssurance = words.isAssurance(answersWhetherSafe: false) || coachMessage.map { question(in: $0).asksOnlyForSafety } ?? false
        return isAssurance ? assessment.replacing(risk) : nil
    }

    /// The grammar's risk and the words of a short message without obfuscated words; nil for other messages, and when the grammar finds a crisis.
    private func searchShort(_ message: String) -> (risk: RiskAssessment, words: TokenSequence)? {
        guard message.utf8.count <= Self.fragmentBytes else { return nil }
        let found = search(message)
        guard found.risk.tier < .crisis, found.forms.count == 1 else { return nil }
        return (found.risk, found.forms[0])
    }

    /// The newest message of three words or more, and the messages after it; nil when there is none.
    private func precedingText(_ earlier: [String]) -> String? {
        let ends = earlier.suffix(Self.earlierMessages).map { $0.lastWords(characters: Self.earlierCharacters) }
        guard let first = ends.lastIndex(where: { search($0).domains.wordCount >= Self.fewestWords }) else { return nil }
        return ends[first...].joined(separator: "\n")
    }

    /// The probability of a crisis in the message together with the user's messages before it, by the last encoder that reads them. nil when:
    /// - none of the last four messages has three words
    /// - the large encoder is missing or has no time
    /// - a word was not read
    /// - the grammar finds a crisis
    public func crisisProbability(
        _ message: String, after earlier: [String], usesLargeEncoder: () -> Bool = { true }
    ) -> Float? {
        guard let before = precedingText(earlier) else { return nil }
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

extension MessageAssessment {
    /// The assessment with another risk. Keeps the score, which decides whether the judge is asked.
    fileprivate func replacing(_ risk: RiskAssessment) -> MessageAssessment {
        var risk = risk
        risk.score = self.risk.score
        return MessageAssessment(risk: risk, domains: domains)
    }
}

extension String {
    /// The last characters, without a word that the limit cuts.
    fileprivate func lastWords(characters: Int) -> String {
        let end = suffix(characters)
        return String(end.startIndex == startIndex ? end : end.drop { !$0.isWhitespace })
    }
}
