import JSON

/// What a creator's text must not contain. The first line of defence only: in a prompt the text is `DelimitedData` whatever it contains.
enum PersonaTextRules {
    enum Problem: CaseIterable {
        case controlCharacters, hiddenCharacters, injection, claimsHuman, claimsProfession, contact

        /// Completes a sentence that begins with the field.
        var text: String {
            switch self {
            case .controlCharacters: "must not contain control characters"
            case .hiddenCharacters: "must not contain invisible or direction-changing characters"
            case .injection: "must not give instructions about instructions, prompts, roles or rules"
            case .claimsHuman: "must not claim that the coach is a human being, or hide that it is an AI"
            case .claimsProfession: "must not claim a protected profession, such as therapist, psychologist or physician"
            case .contact: "must not contain contact data or links"
            }
        }
    }

    /// Reports each problem of the texts of a field, once.
    static func check(_ texts: [String], _ field: String, _ body: JSONReader) throws(JSONFinding) {
        let found = texts.reduce(into: Set<Problem>()) { $0.formUnion(problems(of: $1)) }
        for problem in Problem.allCases where found.contains(problem) { try body.report(field, .invalid(problem.text)) }
    }

    /// Whether a name begins with a doctor's title.
    static func isTitled(_ name: String) -> Bool {
        FoldedText(name).words.first.map { ["dr", "doctor", "doktor", "dra"].contains($0) } ?? false
    }

    static func problems(of text: String) -> Set<Problem> {
        var found: Set<Problem> = []
        for scalar in text.unicodeScalars {
            switch scalar.value {
            case 0x09, 0x0A, 0x0D: continue
            case 0..<0x20, 0x7F..<0xA0: found.insert(.controlCharacters)
            // U+200D joins emoji, U+200C letters of several scripts; the other zero-width characters, marks of direction and tags only hide text.
            case 0xAD, 0x61C, 0x180E, 0x200B, 0x200E, 0x200F, 0x2028...0x202E, 0x2060...0x206F, 0xFEFF, 0xFFF9...0xFFFB, 0xE0000...0xE007F:
                found.insert(.hiddenCharacters)
            default: continue
            }
        }
        let message = NormalisedMessage.fold(text)
        let forms = [message] + [Deobfuscation.restore(message)].compactMap { $0 }
        for form in forms.map(FoldedText.init(units:)) {
            if isInjection(form) || delimiters.contains(where: { text.contains($0) }) { found.insert(.injection) }
            if form.contains(anyOf: humanClaims) { found.insert(.claimsHuman) }
            if claimsProfession(form) { found.insert(.claimsProfession) }
        }
        if isContact(text) { found.insert(.contact) }
        return found
    }

    /// A verb of overriding with an object of it among the next words, or a phrase that is known from attacks.
    private static func isInjection(_ text: FoldedText) -> Bool {
        if text.contains(anyOf: attacks) { return true }
        return text.words.indices.contains { index in
            overridingVerbs.contains(text.words[index])
                && text.words[index...].dropFirst().prefix(6).contains { word in overriddenObjects.contains(word) }
        }
    }

    /// "are a licensed therapist", "am your doctor", and a text that begins with "Licensed therapist"; not "am not a therapist" and not "see a
    /// licensed therapist".
    private static func claimsProfession(_ text: FoldedText) -> Bool {
        text.words.indices.contains { index in
            guard professions.contains(text.words[index]) else { return false }
            var before = text.words[..<index].suffix(4)
            if let last = before.last, licences.contains(last) {
                before.removeLast()
                if before.isEmpty { return true }
            }
            if let last = before.last, articles.contains(last) { before.removeLast() }
            return before.last.map { copulas.contains($0) } ?? false
        }
    }

    private static func isContact(_ text: String) -> Bool {
        text.contains(/[^\s@]@[^\s@.]+\.[A-Za-z]{2}/) || text.contains(/(?i)(https?:|www\.|\b(t|wa|discord|linktr)\.(me|gg|ee)\/)/)
            || text.contains(/(?i)\b[a-z0-9-]{2,63}\.(com|net|org|io|app|co|me|de|fr|es|uk|info|xyz)\b/)
            || text.contains(/(^|\s)@[A-Za-z0-9_.]{3,}/) || hasPhoneNumber(text)
    }

    /// At least nine digits with nothing but separators of telephone numbers between them.
    private static func hasPhoneNumber(_ text: String) -> Bool {
        var digits = 0
        for scalar in text.unicodeScalars {
            switch scalar {
            case "0"..."9": digits += 1
            case " ", "-", "(", ")", ".", "/", "+", "\u{A0}": continue
            default: digits = 0
            }
            if digits >= 9 { return true }
        }
        return false
    }
}
