import Foundation

extension DomainConfiguration {
    /// Parses and validates one file; nil when it is not JSON or names no known domain. Adds findings for all errors.
    static func read(_ json: Data, file: String, collector: FindingCollector) -> DomainConfiguration? {
        guard let root = ConfigurationNode.root(of: json, file: file, collector: collector) else { return nil }
        root.allow([
            "id", "version", "name", "description", "tone", "methodology", "system_prompt", "boundaries", "greeting", "starters", "routing",
        ])
        let domain: Domain? = root.choice("id")
        let prompt = root.text("system_prompt", 200...4_000)
        let template = PromptTemplate(prompt)
        for name in template.placeholders { root.report("system_prompt", .unknownReference("{{\(name)}}")) }
        if template.isUnclosed { root.report("system_prompt", .syntax("a {{ has no }}")) }
        let configuration = DomainConfiguration(
            domain: domain ?? .lifeCoaching, version: root.integer("version", 1...1_000_000), name: root.text("name", 2...60),
            description: root.text("description", 20...300), tone: root.text("tone", 10...400),
            methodology: root.text("methodology", 20...600), systemPrompt: prompt,
            boundaries: root.texts("boundaries", count: 1...12, length: 10...300), greeting: root.text("greeting", 10...300),
            starters: root.texts("starters", count: 2...8, length: 5...120), terms: terms(root))
        return domain == nil ? nil : configuration
    }

    private static func terms(_ root: ConfigurationNode) -> [Term] {
        guard let routing = root.object("routing") else { return [] }
        routing.allow(["en", "es"])
        var seen: Set<String> = []
        return ["en", "es"].flatMap { language -> [Term] in
            guard let weights = routing.object(language) else { return [] }
            return weights.keys.flatMap { key -> [Term] in
                guard let weight = Float(key), weight >= 0, weight <= 10 else {
                    weights.report(key, .outOfBounds("a weight from 0 to 10"))
                    return []
                }
                return weights.texts(key, count: 1...600, length: 1...80).flatMap(PhraseExpansion.expand).filter { phrase in
                    seen.insert(phrase).inserted
                }.map { Term(phrase: $0, weight: weight) }
            }
        }
    }
}

extension DomainConfigurations {
    /// Parses and validates all seven files, keyed by file name. The error has the findings of all files, with missing and duplicate
    /// domains, values out of bounds and unknown keys.
    public init(files: [String: Data]) throws(ConfigurationRejected) {
        let collector = FindingCollector()
        var byDomain: [Domain: DomainConfiguration] = [:]
        for (file, json) in files.sorted(by: { $0.key < $1.key }) {
            guard let read = DomainConfiguration.read(json, file: file, collector: collector) else { continue }
            if byDomain[read.domain] != nil { collector.add(file, "id", .duplicate(read.domain.rawValue)) }
            byDomain[read.domain] = read
        }
        for domain in Domain.allCases where byDomain[domain] == nil { collector.add("domains", domain.rawValue, .missing) }
        try collector.rejectIfAny()
        self.init(byDomain: byDomain)
    }
}
