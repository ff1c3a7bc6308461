import JSON

extension DomainConfiguration: JSONReadable {
    public init(_ root: JSONReader) throws(JSONFinding) {
        domain = try root.required("id", .choice)
        version = try root.required("version", .integer(1...1_000_000))
        name = try root.required("name", .text(2...60))
        description = try root.required("description", .text(20...300))
        tone = try root.required("tone", .text(10...400))
        methodology = try root.required("methodology", .text(20...600))
        systemPrompt = try root.required("system_prompt", .text(200...4_000))
        boundaries = try root.required("boundaries", .list(1...12, .text(10...300)))
        greeting = try root.required("greeting", .text(10...300))
        starters = try root.required("starters", .list(2...8, .text(5...120)))
        terms = try DomainConfiguration.terms(root)
        let template = PromptTemplate(systemPrompt)
        for name in template.placeholders { try root.report("system_prompt", .invalid("refers to the unknown {{\(name)}}")) }
        if template.isUnclosed { try root.report("system_prompt", .invalid("has a {{ without }}")) }
        try root.rejectUnknown()
    }

    /// Some ten times those of a shipped domain. A dozen words with two endings each would be half a million, on every instance at every start.
    private static let mostTerms = 5_000

    private static func terms(_ root: JSONReader) throws(JSONFinding) -> [Term] {
        let routing = try root.object("routing")
        var seen: Set<String> = []
        var terms: [Term] = []
        var count = 0
        for language in ["en", "es"] {
            let weights = try routing.object(language)
            // The highest weight of a phrase counts. Not in the order of the text, which PostgreSQL's jsonb does not keep.
            for name in weights.names.sorted(by: { Float($0) ?? 0 > Float($1) ?? 0 }) {
                var phrases: [String] = []
                for element in try weights.elements(name, 1...600) {
                    let phrase = try JSONField<String>.text(1...80).read(element)
                    count += min(PhraseExpansion.count(phrase), mostTerms + 1)
                    if count > mostTerms {
                        try element.report(.invalid("must not make more than \(mostTerms) terms of the domain, with all its endings"))
                        return terms
                    }
                    phrases.append(phrase)
                }
                guard let weight = Float(name), weight >= 0, weight <= 10 else {
                    try weights.report(name, .invalid("must be a weight from 0 to 10"))
                    continue
                }
                for phrase in phrases.flatMap(PhraseExpansion.expand) where seen.insert(phrase).inserted {
                    terms.append(Term(phrase: phrase, weight: weight))
                }
            }
        }
        try routing.rejectUnknown()
        return terms
    }
}

extension DomainConfigurations {
    /// Parses and validates all seven files, keyed by file name. The error has the findings of all files, with missing and duplicate
    /// domains, values out of bounds and unknown keys.
    public init(files: [String: [UInt8]]) throws(ConfigurationRejected) {
        var findings: [ConfigurationFinding] = []
        var byDomain: [Domain: DomainConfiguration] = [:]
        for (file, json) in files.sorted(by: { $0.key < $1.key }) {
            do throws(ConfigurationRejected) {
                let read = try ConfigurationRejected.read(json, file: file, DomainConfiguration.init)
                if byDomain.updateValue(read, forKey: read.domain) != nil {
                    findings.append(ConfigurationFinding(file, "id", .invalid("is the id of another file: \(read.domain.rawValue)")))
                }
            } catch {
                findings += error.findings
            }
        }
        for domain in Domain.allCases where byDomain[domain] == nil {
            findings.append(ConfigurationFinding("domains", domain.rawValue, .missing))
        }
        guard findings.isEmpty else { throw ConfigurationRejected(findings: findings) }
        self.init(byDomain: byDomain)
    }
}
