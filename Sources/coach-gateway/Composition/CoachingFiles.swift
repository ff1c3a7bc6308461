import ChatAPI
import CoachCore
import Foundation
import JSON

/// Reads `domains/` and `prompts/` and compiles them. Everything that is wrong with any file is found at once.
struct CoachingFiles {
    let root: URL

    private var product: ProductFolder { ProductFolder(root: root) }

    /// `warnings` does not keep a gateway from serving: without its model the grammar detects danger alone.
    func load() -> (parts: CoachingParts?, findings: [String], warnings: [String]) {
        let (grammar, domains, wrong) = detection()
        var findings = wrong
        let resources = Self.attempt(product.read("domains/safety/resources.json"), &findings) { json throws(ConfigurationRejected) in
            try CrisisResources(json: json)
        }
        let rules = Self.attempt(product.read("domains/safety/output-guard.json"), &findings) { json throws(ConfigurationRejected) in
            try OutputRules(json: json)
        }
        let disclosures = Self.attempt(product.read("domains/safety/disclosure.json"), &findings) { json throws(ConfigurationRejected) in
            try Disclosures(json: json)
        }
        let safetyProtocol = Self.attempt(product.read("domains/safety/protocol.md"), &findings) { bytes throws(ConfigurationRejected) in
            Array(try ConfigurationRejected.text(bytes, file: "protocol.md").utf8)
        }
        let templates = Self.attempt(folder("prompts", suffix: ".md"), &findings) { files throws(ConfigurationRejected) in
            try PromptTemplates(files: files)
        }
        var warnings: [String] = []
        let classifier = Self.attempt(product.read(TrainingFiles.model), &warnings) { bytes throws(ConfigurationRejected) in
            try CrisisClassifier(LinearClassifier(file: bytes, named: TrainingFiles.model), file: TrainingFiles.model)
        }
        if classifier == nil { warnings.append("\(TrainingFiles.model): crisis detection runs by the grammar alone") }
        // The linear model chooses the passages of long messages, and names categories; the large encoder reads what the other leaves open.
        let encoder = classifier == nil ? nil : loadEncoder(TrainingFiles.encoder, previous: nil, &warnings)
        let largeEncoder = encoder.flatMap { loadEncoder(TrainingFiles.largeEncoder, previous: $0, &warnings) }
        if encoder == nil {
            warnings.append("\(TrainingFiles.encoder): danger and domains are assessed without the encoders")
        } else if largeEncoder == nil {
            warnings.append("\(TrainingFiles.largeEncoder): danger and domains are assessed without the large encoder")
        }
        let domainClassifier = domainModel(&warnings)
        if domainClassifier == nil {
            warnings.append("\(TrainingFiles.domainModel): the routing terms alone score domains before the encoders")
        }
        guard findings.isEmpty, let grammar, let resources, let rules, let disclosures, let safetyProtocol, let domains, let templates
        else {
            return (nil, findings, warnings)
        }
        let parts = CoachingParts(
            grammar: grammar, classifier: classifier, domainClassifier: domainClassifier, encoder: encoder,
            largeEncoder: largeEncoder, templates: templates, resources: resources,
            outputGuard: OutputGuard(rules: rules, resources: resources), disclosures: disclosures,
            versions: CrisisRecord.Versions(
                model: fingerprint([
                    classifier.flatMap { _ in product.read(TrainingFiles.model).content?.suffix(8) }.map(Array.init), encoder?.checksum,
                    largeEncoder?.checksum,
                ]),
                grammar: grammar.version, outputGuard: rules.version, resources: resources.version),
            safetyProtocol: safetyProtocol, domains: domains,
            domainBodies: domainBodies())
        return (parts, [], warnings)
    }

    /// The checksums of models' files, hexadecimal. nil without a model.
    private func fingerprint(_ checksums: [[UInt8]?]) -> String? {
        let present = checksums.compactMap { $0.map { Hexadecimal.encode($0) } }
        return present.isEmpty ? nil : present.joined(separator: "-")
    }

    private func loadEncoder(_ path: String, previous: MessageEncoder?, _ warnings: inout [String]) -> MessageEncoder? {
        Self.attempt(product.read(path), &warnings) { bytes throws(ConfigurationRejected) in
            try MessageEncoder(file: bytes, named: path, previous: previous)
        }
    }

    private func domainModel(_ warnings: inout [String]) -> DomainClassifier? {
        Self.attempt(product.read(TrainingFiles.domainModel), &warnings) { bytes throws(ConfigurationRejected) in
            try DomainClassifier(LinearClassifier(file: bytes, named: TrainingFiles.domainModel), file: TrainingFiles.domainModel)
        }
    }

    /// The content of `domains/` by domain. Only valid files are looked at.
    private func domainBodies() -> [String: JSONValue] {
        let bodies = (folder("domains", suffix: ".json").content ?? [:]).values.compactMap { try? JSONValue(parsing: $0) }
        return Dictionary(bodies.compactMap { body in body["id"]?.string.map { ($0, body) } }) { first, _ in first }
    }

    /// What assesses a message, besides the trained model.
    func detection() -> (grammar: CrisisGrammar?, domains: DomainConfigurations?, findings: [String]) {
        var findings: [String] = []
        let grammar = Self.attempt(product.read("domains/safety/crisis-grammar.json"), &findings) { json throws(ConfigurationRejected) in
            try CrisisGrammar(json: json)
        }
        let domains = Self.attempt(folder("domains", suffix: ".json"), &findings) { files throws(ConfigurationRejected) in
            try DomainConfigurations(files: files)
        }
        return (grammar, domains, findings)
    }

    /// Nil, with findings, when a file cannot be read or is refused.
    private static func attempt<Content, Value>(
        _ source: (content: Content?, findings: [String]), _ findings: inout [String],
        _ parse: (Content) throws(ConfigurationRejected) -> Value
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

    /// The files of a folder by name; nil when one of them cannot be read, because what is missing would be reported as well.
    private func folder(_ name: String, suffix: String) -> (content: [String: [UInt8]]?, findings: [String]) {
        let (names, wrong) = product.names(in: name, suffix: suffix)
        var findings = wrong
        var files: [String: [UInt8]] = [:]
        for file in names {
            let (content, unreadable) = product.read("\(name)/\(file)")
            findings += unreadable
            files[file] = content
        }
        return (findings.isEmpty ? files : nil, findings)
    }
}
