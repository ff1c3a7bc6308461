import ChatAPI
import CoachCore
import JSON

/// The coaching files, parsed. Operators edit the domains while the gateway runs; the rest is fixed.
struct CoachingParts: Sendable {
    let grammar: CrisisGrammar
    let classifier: CrisisClassifier?
    let domainClassifier: DomainClassifier?
    let encoder: MessageEncoder?
    let largeEncoder: MessageEncoder?
    let templates: PromptTemplates
    let resources: CrisisResources
    let outputGuard: OutputGuard
    let disclosures: Disclosures
    let versions: CrisisRecord.Versions
    /// The published safety protocol, UTF-8.
    let safetyProtocol: [UInt8]
    let domains: DomainConfigurations
    /// The files of `domains`, by domain.
    let domainBodies: [String: JSONValue]

    /// Whether all trained models that detect danger are there.
    var hasClassifiers: Bool { classifier != nil && encoder != nil && largeEncoder != nil }

    /// Compiles a configuration with these domains. Takes tens of milliseconds.
    func configuration(_ domains: DomainConfigurations) -> CoachingConfiguration {
        CoachingConfiguration(
            assessor: assessor(domains), fusion: SafetyFusion(grammar: grammar),
            prompts: PromptBuilder(templates: templates, domains: domains), resources: resources,
            outputGuard: outputGuard, disclosures: disclosures, versions: versions, domains: domains)
    }

    func assessor(_ domains: DomainConfigurations) -> MessageAssessor {
        MessageAssessor(
            grammar: grammar, domains: domains, classifier: classifier, domainClassifier: domainClassifier, encoder: encoder,
            largeEncoder: largeEncoder)
    }
}
