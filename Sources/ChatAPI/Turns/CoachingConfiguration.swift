import CoachCore
import GatewayAPI
import HTTPEdge

/// The coaching configuration, loaded from `domains/` and `prompts/`: classifier, safety rules, router, prompts and crisis resources.
/// Immutable; a reload makes a new value.
public struct CoachingConfiguration: Sendable {
    let assessor: MessageAssessor
    let fusion: SafetyFusion
    let prompts: PromptBuilder
    public let resources: CrisisResources
    let outputGuard: OutputGuard
    let disclosures: Disclosures
    /// For the audit.
    let versions: CrisisRecord.Versions
    public let domains: DomainConfigurations

    public init(
        assessor: MessageAssessor, fusion: SafetyFusion, prompts: PromptBuilder,
        resources: CrisisResources, outputGuard: OutputGuard, disclosures: Disclosures, versions: CrisisRecord.Versions,
        domains: DomainConfigurations
    ) {
        self.assessor = assessor
        self.fusion = fusion
        self.prompts = prompts
        self.resources = resources
        self.outputGuard = outputGuard
        self.disclosures = disclosures
        self.versions = versions
        self.domains = domains
    }

    /// The card for a risk of tier 2 and above, or for the stored level alone; nil when there is none.
    func card(_ risk: RiskAssessment, in region: Region) -> SafetyCard? {
        risk.hasCard ? resources.card(for: risk, in: region) : nil
    }

    /// The notice of talking to a machine, when the turn has one.
    func disclosure(_ kind: DisclosureKind?, in region: Region) -> StreamStart.Disclosure? {
        kind.map { StreamStart.Disclosure(text: disclosures.text($0, in: region), version: "\(disclosures.version)") }
    }

    /// The output guard of a new answer. At risk tier 2 and above it releases only complete sentences.
    func guardedAnswer(_ safety: SafetyDecision, in region: Region) -> GuardedAnswer {
        GuardedAnswer(outputGuard, language: region.language, holdsSentences: safety.promptTier >= .crisis)
    }

    /// The crisis resources of an error: those for the message's risk, else all of the region when the stored safety level is above calm,
    /// else nil.
    func crisisResources(_ risk: RiskAssessment, stored: SafetyLevel = .calm, in region: Region) -> StreamSafety? {
        card(risk, in: region).map(StreamSafety.init) ?? resources.resources(stored: stored, in: region)
    }

    /// What is released before the model's text at tier 3 and above; empty when no model is called, because the fixed text is the answer.
    func opening(_ card: SafetyCard?, callsModel: Bool) -> [UInt8] { callsModel ? Array((card?.opening ?? "").utf8) : [] }

    /// The fixed answer for when every model fails at tier 3 and above, or when no model may be called at tier 2 and above.
    func fixedText(_ card: SafetyCard?, callsModel: Bool) -> [UInt8]? {
        card.flatMap { $0.tier >= (callsModel ? .high : .crisis) ? Array($0.fixedAnswer.utf8) : nil }
    }
}
