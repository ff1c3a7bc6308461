/// What a text says that the coach is: "Ada is a licensed therapist", "works as your doctor", or a text that begins with "Psychologist with"; not
/// "is not a therapist", "see a licensed therapist" and "is a doctor's task".
struct SelfDescription {
    private let text: FoldedText
    private var words: [String] { text.words }

    init(_ text: FoldedText) { self.text = text }

    var claimsProfession: Bool {
        words.indices.contains { index in
            PersonaTextRules.isProfession(words[index]) && isClaimed(index, qualifiers: PersonaTextRules.qualifiers, isHuman: false)
        }
    }

    /// Without the phrases of `PersonaTextRules.humanClaims`.
    var claimsHuman: Bool {
        words.indices.contains { index in
            isHumanBeing(index) && isClaimed(index, qualifiers: PersonaTextRules.genuine, isHuman: true)
        }
    }

    /// "human", and "person" only as in "real person" or "persona real": "is a warm person" describes a manner.
    private func isHumanBeing(_ index: Int) -> Bool {
        if PersonaTextRules.humans.contains(words[index]) { return true }
        guard PersonaTextRules.persons.contains(words[index]) else { return false }
        return index > 0 && PersonaTextRules.genuine.contains(words[index - 1])
            || index + 1 < words.count && PersonaTextRules.genuine.contains(words[index + 1])
    }

    private func isClaimed(_ noun: Int, qualifiers: Set<String>, isHuman: Bool) -> Bool {
        // Of "doctor's".
        if noun + 1 < words.count, words[noun + 1] == "s" { return false }
        var start = noun
        while start > 0, qualifiers.contains(words[start - 1]) { start -= 1 }
        let adjectives = words[start..<noun]
        let article = start > 0 && PersonaTextRules.articles.contains(words[start - 1]) ? words[start - 1] : nil
        // Two in "o teu".
        for _ in 0..<2 where start > 0 && PersonaTextRules.articles.contains(words[start - 1]) { start -= 1 }
        let isComplete = endsNounPhrase(noun, qualifiers)
        // "is a human touch", "mistakes are human"
        if isHuman, !isComplete || article == nil && adjectives.isEmpty { return false }
        guard start > 0 else {
            if adjectives.contains(where: { PersonaTextRules.licences.contains($0) }), article == nil { return true }
            // "Your doctor and you"
            let isNew = !isHuman && !PersonaTextRules.possessives.contains(article ?? "")
            return isComplete && (isNew || !adjectives.isEmpty)
        }
        let verb = start - 1
        if words[verb] == "s" { return PersonaTextRules.indefiniteArticles.contains(article ?? "") && isAboutCoach(verb) }
        if PersonaTextRules.copulas.contains(words[verb]) {
            // "Is a doctor needed?"
            return verb == 0 || text.clauseStarts.contains(verb) ? isComplete : isAboutCoach(verb)
        }
        // "Treat users as human beings."
        guard !isHuman, PersonaTextRules.roleWords.contains(words[verb]) else { return false }
        return hasWork(before: verb) || text.clauseStarts.contains(verb) && isComplete
    }

    private func endsNounPhrase(_ noun: Int, _ qualifiers: Set<String>) -> Bool {
        var end = noun
        while !text.endsClause(end), qualifiers.contains(words[end + 1]) { end += 1 }
        return text.endsClause(end) || PersonaTextRules.phraseEnds.contains(words[end + 1])
    }

    /// Whether the subject of a copula can be the coach, and the sentence is not negated.
    private func isAboutCoach(_ copula: Int) -> Bool {
        guard copula > 0 else { return true }
        var subject = copula - 1
        if PersonaTextRules.negations.contains(words[subject]) { return false }
        if subject > 0, PersonaTextRules.relativePronouns.contains(words[subject]) { subject -= 1 }
        return !PersonaTextRules.otherSubjects.contains(words[subject])
    }

    /// Whether a verb of working belongs to "as": "has worked for 20 years as a".
    private func hasWork(before role: Int) -> Bool {
        (max(0, role - 7)..<role).contains { index in
            PersonaTextRules.workVerbs.contains(words[index])
                && !words[max(0, index - 3)..<role].contains { word in PersonaTextRules.negations.contains(word) }
        }
    }
}
