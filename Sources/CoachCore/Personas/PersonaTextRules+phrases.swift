// Phrases of orders and claims, in the place of a sentence in which they are such. The same words are ordinary elsewhere.
extension PersonaTextRules {
    /// A phrase that is known from attacks, an order that gives the coach another role, or a verb of overriding with its object.
    static func isInjection(_ text: FoldedText) -> Bool {
        text.contains(anyOf: attacks) || roleOrders.contains { phrase in text.starts(of: phrase).contains { beginsClause($0, text) } }
            || text.words.indices.contains { overridingVerbs.contains(text.words[$0]) && overrides($0, text) }
    }

    /// One of `humanClaims` that is not forbidden, a denial that the coach is a machine, or an order to hide it.
    static func claimsHuman(_ text: FoldedText) -> Bool {
        humanClaims.contains { phrase in
            guard text.contains(anyOf: [phrase]) else { return false }
            let starts = text.starts(of: phrase)
            // Those in scripts without spaces begin at no word.
            return starts.isEmpty || starts.contains { !isForbidden($0, text) }
        } || machineDenials.contains { phrase in text.starts(of: phrase).contains { isDenial(phrase, at: $0, text) } }
            || text.words.indices.contains { text.words[$0] == "admit" && hidesNature($0, text) }
    }

    /// Whether what begins at this word, or the clause with it as its subject, must not be said: "Never claim to be human", "never say that you are human".
    static func isForbidden(_ start: Int, _ text: FoldedText) -> Bool {
        var verb = start
        if verb > 0, thatConjunctions.contains(text.words[verb - 1]) { verb -= 1 }
        if verb > 0, reportingVerbs.contains(text.words[verb - 1]) { return isNegated(verb - 1, text) }
        return reportingVerbs.contains(text.words[start]) && isNegated(start, text)
    }

    private static func beginsClause(_ start: Int, _ text: FoldedText) -> Bool {
        var start = start
        while start > 0, !text.clauseStarts.contains(start), clauseOpeners.contains(text.words[start - 1]) { start -= 1 }
        return text.clauseStarts.contains(start)
    }

    /// Whether an object follows in the sentence: "Ignore all rules", not "Never ignore the rules", nor "Never skip meals. Safety first."
    private static func overrides(_ verb: Int, _ text: FoldedText) -> Bool {
        if isNegated(verb, text) { return false }
        let rest = text.words.indices[(verb + 1)...].prefix(6).prefix {
            !text.sentenceStarts.contains($0) && !instruments.contains(text.words[$0])
        }
        return rest.contains { overriddenObjects.contains(text.words[$0]) }
    }

    /// "Never ignore", "don't ever forget", "n'oublie pas", "vergiss nie".
    private static func isNegated(_ verb: Int, _ text: FoldedText) -> Bool {
        if verb + 1 < text.words.count, laterNegations.contains(text.words[verb + 1]) { return true }
        var negation = verb - 1
        if negation > 0, text.words[negation] == "ever" { negation -= 1 }
        guard negation >= 0, !text.clauseStarts.contains(verb) else { return false }
        return negations.contains(text.words[negation]) || ["n", "ne"].contains(text.words[negation])
    }

    /// Whether a denial of being a machine is of the coach: "Ada is not a machine", "you aren't a machine, you are Anna".
    private static func isDenial(_ phrase: String, at start: Int, _ text: FoldedText) -> Bool {
        var first = start
        while !text.clauseStarts.contains(first), beforeDenial.contains(text.words[first - 1]) { first -= 1 }
        guard !text.clauseStarts.contains(first) else { return true }
        if livingSubjects.contains(text.words[first - 1]) { return false }
        guard addressed.contains(text.words[first - 1]) else { return true }
        let next = text.words[(start + phrase.split(separator: " ").count)...].prefix(3)
        return zip(next, next.dropFirst()).contains { addressed.contains($0) && copulas.contains($1) }
    }

    /// "Never admit that you are an AI", not "Never admit defeat".
    private static func hidesNature(_ verb: Int, _ text: FoldedText) -> Bool {
        let rest = text.words[(verb + 1)...].prefix(8)
        return isNegated(verb, text) && zip(rest, rest.dropFirst()).contains { beforeArtificial.contains($0) && artificial.contains($1) }
    }
}
