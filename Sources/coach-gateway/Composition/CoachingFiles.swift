import ChatAPI
import CoachCore
import Foundation

/// Reads `domains/` and `prompts/` and compiles them. Everything that is wrong with any file is found at once.
struct CoachingFiles {
    let root: URL

    func load() -> (coaching: Coaching?, findings: [String]) {
        var findings: [String] = []
        /// Nil, with findings, when a file cannot be read or is refused.
        func attempt<Content, Value>(
            _ source: (content: Content?, findings: [String]), _ parse: (Content) throws(ConfigurationRejected) -> Value
        ) -> Value? {
            findings += source.findings
            guard let content = source.content else { return nil }
            do throws(ConfigurationRejected) {
                return try parse(content)
            } catch {
                findings += error.findings.map(\.description)
                return nil
            }
        }
        let grammar = attempt(file("domains/safety/crisis-grammar.json")) { json throws(ConfigurationRejected) in
            try CrisisGrammar(json: json)
        }
        let resources = attempt(file("domains/safety/resources.json")) { json throws(ConfigurationRejected) in
            try CrisisResources(json: json)
        }
        let domains = attempt(folder("domains", suffix: ".json")) { files throws(ConfigurationRejected) in
            try DomainConfigurations(files: files)
        }
        let templates = attempt(folder("prompts", suffix: ".md")) { files throws(ConfigurationRejected) in
            try PromptTemplates(files: files)
        }
        guard findings.isEmpty, let grammar, let resources, let domains, let templates else { return (nil, findings) }
        let coaching = Coaching(
            assessor: MessageAssessor(grammar: grammar, domains: domains), fusion: SafetyFusion(grammar: grammar),
            prompts: PromptBuilder(templates: templates, domains: domains), resources: resources)
        return (coaching, [])
    }

    private func file(_ path: String) -> (content: Data?, findings: [String]) {
        let (bytes, finding) = ProductFile(root: root).read(path)
        return (bytes, finding.map { [$0] } ?? [])
    }

    /// The files of a folder by name; nil when one of them cannot be read, because what is missing would be reported as well.
    private func folder(_ name: String, suffix: String) -> (content: [String: Data]?, findings: [String]) {
        let (names, unreadable) = ProductFile(root: root).names(in: name, suffix: suffix)
        var findings = unreadable.map { [$0] } ?? []
        var files: [String: Data] = [:]
        for file in names {
            let (bytes, finding) = ProductFile(root: root).read("\(name)/\(file)")
            if let finding { findings.append(finding) }
            files[file] = bytes
        }
        return (findings.isEmpty ? files : nil, findings)
    }
}
