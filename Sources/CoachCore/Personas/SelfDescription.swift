/// What a text says that the coach is: "Ada is human", "Ada is a licensed therapist", "works as your doctor", or a text that begins with
/// "Psychologist with"; not "is not a therapist", "see a licensed therapist" and "is a doctor's task".
struct SelfDescription {
    private let text: FoldedText
    private var words: [String] { text.words }
    /// Words of the coach's name.
    private let names: Set<String>

    init(_ text: FoldedText, name: String) {
        self.text = text
        names = Set(FoldedText(name).words.filter { $0.count > 1 }).subtracting(PersonaTextRules.functionWords)
    }

    var claimsProfession: Bool {
        words.indices.contains { index in
            let isBeforeName = index + 1 < words.count && names.contains(words[index + 1])
            // "Dr. Ada", where the full stop ends no clause
            if PersonaTextRules.titles.contains(words[index]) { return isBeforeName }
            guard PersonaTextRules.isProfession(words[index]) else { return false }
            // "Meet your therapist Ada"
            return isBeforeName && !text.endsClause(index) && !isVerb(index + 1)
                || isClaimed(index, qualifiers: PersonaTextRules.qualifiers, isHuman: false)
        }
    }

    /// Without the phrases of `PersonaTextRules.humanClaims`.
    var claimsHuman: Bool {
        words.indices.contains { index in
            isHumanBeing(index) && isClaimed(index, qualifiers: PersonaTextRules.genuine, isHuman: true)
        }
    }

    /// "human", "human coach", and "person" only as in "real person" or "persona real": "is a warm person" describes a manner.
    private func isHumanBeing(_ index: Int) -> Bool {
        if PersonaTextRules.humans.contains(words[index]) { return true }
        if index > 0, PersonaTextRules.helpers.contains(words[index]) { return PersonaTextRules.humanAdjectives.contains(words[index - 1]) }
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
        let phrase = start
        // "is really human", "is also a therapist"
        while start > 0, PersonaTextRules.adverbs.contains(words[start - 1]) { start -= 1 }
        // "is a human touch", and "mistakes are human" unlike "Ada is human"
        let isBare = article == nil && adjectives.isEmpty
        if isHuman, !isComplete || isBare && !isSubjectNamed(start - 1) { return false }
        guard start > 0 else {
            if adjectives.contains(where: { PersonaTextRules.licences.contains($0) }), article == nil { return true }
            // "Your doctor and you"
            let isNew = !isHuman && !PersonaTextRules.possessives.contains(article ?? "")
            return isComplete && (isNew || !adjectives.isEmpty)
        }
        let verb = start - 1
        if words[verb] == "s" {
            return (isHuman && isBare || PersonaTextRules.indefiniteArticles.contains(article ?? "")) && isAboutCoach(verb)
        }
        if names.contains(words[verb]) { return isComplete && isApposition(phrase, to: verb) }
        if PersonaTextRules.copulas.contains(words[verb]) {
            // "Is a doctor needed?"
            return verb == 0 || text.clauseStarts.contains(verb) ? isComplete : isAboutCoach(verb)
        }
        guard PersonaTextRules.roleWords.contains(words[verb]) else { return false }
        // Not "Treat a user as a human."
        return hasWork(before: verb) || !isHuman && text.clauseStarts.contains(verb) && isComplete
    }

    /// Whether a word of the name is a verb here: "Your doctor will know", not "Meet your doctor Will".
    private func isVerb(_ name: Int) -> Bool { PersonaTextRules.namesThatAreVerbs.contains(words[name]) && !text.endsClause(name) }

    /// "Ada, a therapist," and "Ada the therapist", not "Is Ada a therapist?", nor "a sleep therapist", whom Sleep Coach suggests.
    private func isApposition(_ phrase: Int, to name: Int) -> Bool {
        if name == 0 || text.clauseStarts.contains(phrase) { return true }
        return !PersonaTextRules.copulas.contains(words[name - 1]) && !PersonaTextRules.articles.contains(words[name - 1])
    }

    /// Whether the coach's name or a pronoun of a person is the subject of a copula.
    private func isSubjectNamed(_ copula: Int) -> Bool {
        guard copula > 0, words[copula] == "s" || PersonaTextRules.copulas.contains(words[copula]) else { return false }
        var subject = copula - 1
        if subject > 0, PersonaTextRules.relativePronouns.contains(words[subject]) { subject -= 1 }
        return names.contains(words[subject]) || PersonaTextRules.personalPronouns.contains(words[subject])
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
        // "If you are a lawyer", "Never say that you are a therapist"
        let isConditional = !text.clauseStarts.contains(subject) && PersonaTextRules.conditions.contains(words[subject - 1])
        return !PersonaTextRules.otherSubjects.contains(words[subject]) && !isConditional
            && !PersonaTextRules.isForbidden(subject, text)
    }

    /// Whether a verb of working belongs to "as": "has worked for 20 years as a".
    private func hasWork(before role: Int) -> Bool {
        (max(0, role - 7)..<role).contains { index in
            PersonaTextRules.workVerbs.contains(words[index])
                && !words[max(0, index - 3)..<role].contains { word in PersonaTextRules.negations.contains(word) }
        }
    }
}
