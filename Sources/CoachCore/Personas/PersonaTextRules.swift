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
    /// - Parameter name: the persona's, by which a text may call the coach.
    static func check(_ texts: [String], _ field: String, name: String, _ body: JSONReader) throws(JSONFinding) {
        try report(texts.reduce(into: Set<Problem>()) { $0.formUnion(problems(of: $1, name: name)) }, field, body)
    }

    /// As `check`. A name has one line, and no sentence around a profession that could deny it.
    static func checkName(_ name: String, _ body: JSONReader) throws(JSONFinding) {
        var found = problems(of: name, name: name)
        if name.utf8.contains(where: { [0x09, 0x0A, 0x0D].contains($0) }) { found.insert(.controlCharacters) }
        if namesProfession(name) { found.insert(.claimsProfession) }
        try report(found, "name", body)
    }

    private static func report(_ found: Set<Problem>, _ field: String, _ body: JSONReader) throws(JSONFinding) {
        for problem in Problem.allCases where found.contains(problem) { try body.report(field, .invalid(problem.text)) }
    }

    /// Whether a name begins with a doctor's title, or has a protected profession in it.
    static func namesProfession(_ name: String) -> Bool {
        let words = FoldedText(name).words
        return words.first.map(titles.contains) ?? false || words.contains(where: isProfession)
    }

    static func problems(of text: String, name: String) -> Set<Problem> {
        var found: Set<Problem> = []
        var previous: Unicode.Scalar?
        for scalar in text.unicodeScalars {
            defer { previous = scalar }
            switch scalar.value {
            case 0x09, 0x0A, 0x0D: continue
            case 0..<0x20, 0x7F..<0xA0: found.insert(.controlCharacters)
            case _ where scalar.isInvisible && !scalar.isJoiner: found.insert(.hiddenCharacters)
            case _ where scalar.isStrayVariationSelector(after: previous): found.insert(.hiddenCharacters)
            default: continue
            }
        }
        // Folded, the verb of Italian and Portuguese would be their "and"; the Spanish verb means the same.
        let message = NormalisedMessage.fold(text.replacing(/(?i)\b[éè]\b/, with: "es"))
        let forms = [message] + [Deobfuscation.restore(message)].compactMap { $0 }
        for form in forms.map(FoldedText.init(units:)) {
            if isInjection(form) || delimiters.contains(where: { text.contains($0) }) { found.insert(.injection) }
            let description = SelfDescription(form, name: name)
            if claimsHuman(form) || description.claimsHuman { found.insert(.claimsHuman) }
            if description.claimsProfession { found.insert(.claimsProfession) }
        }
        if isContact(text) { found.insert(.contact) }
        return found
    }

    private static func isContact(_ text: String) -> Bool {
        text.contains(/[^\s@]@[^\s@.]+\.[A-Za-z]{2}/) || text.contains(/(?i)(https?:|www\.|\b(t|wa|discord|linktr)\.(me|gg|ee)\/)/)
            || text.contains(/(^|\s)@[A-Za-z_][A-Za-z0-9_.]{2,}/) || hasHost(text) || hasPhoneNumber(text)
    }

    /// A name with a top-level domain. Not every dot between letters: "node.js", "e.g." and "calm.Then" are no hosts. The top-level domains that are
    /// short words of prose need a path. Reads each character a few times at most: a regular expression begins again at each hyphen of a label.
    private static func hasHost(_ text: String) -> Bool {
        let scalars = Array(text.unicodeScalars)
        return scalars.indices.contains { dot in
            guard scalars[dot] == ".", dot >= 2, scalars[dot - 2..<dot].allSatisfy(isOfLabel) else { return false }
            let label = scalars[(dot + 1)...].prefix(while: isOfDomain)
            let domain = String(String.UnicodeScalarView(label))
            if wordDomains.contains(domain) || topLevelDomains.contains(domain.lowercased()) { return true }
            guard shortWordDomains.contains(domain.lowercased()) else { return false }
            let path = scalars[label.endIndex...].prefix(2)
            return path.first == "/" && path.dropFirst().contains(where: isOfDomain)
        }
    }

    /// Whether a label of a host can have the character, in any script. A combining mark belongs to its letter.
    private static func isOfLabel(_ scalar: Unicode.Scalar) -> Bool {
        if isOfDomain(scalar) { return true }
        return switch scalar.properties.generalCategory {
        case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .nonspacingMark, .spacingMark: true
        default: false
        }
    }

    /// Whether a top-level domain can have the character.
    private static func isOfDomain(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "a"..."z", "A"..."Z", "0"..."9", "-": true
        default: false
        }
    }

    /// At least nine digits with nothing but separators of telephone numbers between them.
    private static func hasPhoneNumber(_ text: String) -> Bool {
        text.unicodeScalars.split { !isDigit($0) && !phoneSeparators.contains($0) }.contains { run in
            let groups = run.split { !isDigit($0) }
            guard groups.reduce(0, { $0 + $1.count }) >= 9, let first = groups.first else { return false }
            if run.first(where: { $0 != " " }) == "+" || first.count == 2 && first.first == "0" { return true }
            // Not repetitions, "20-15-12-10-8", nor distances, "400-800-1200-800-400".
            let long = groups.count { $0.count >= 3 }
            // "55 12 34 56 78", and digits one by one.
            if Set(groups.map(\.count)).count == 1, groups[0].count < 3, run.allSatisfy({ isDigit($0) || $0 == " " }) { return true }
            return long > 0 && !(long == groups.count && long >= 5)
        }
    }

    private static let phoneSeparators: Set<Unicode.Scalar> = [" ", "-", "(", ")", ".", "/", "+", "\u{A0}"]

    private static func isDigit(_ scalar: Unicode.Scalar) -> Bool { ("0"..."9").contains(scalar) }
}
