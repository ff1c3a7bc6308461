import CoachCore
import GatewayAPI
import HTTPEdge

/// The coaching configuration, compiled from `domains/` and `prompts/`. Immutable; a reload makes a new one.
public struct Coaching: Sendable {
    let assessor: MessageAssessor
    let fusion: SafetyFusion
    let router: DomainRouter
    let prompts: PromptBuilder
    public let resources: CrisisResources
    let outputGuard: OutputGuard
    let disclosures: Disclosures
    /// For the audit.
    let versions: CrisisRecord.Versions
    public let domains: DomainConfigurations

    public init(
        assessor: MessageAssessor, fusion: SafetyFusion, router: DomainRouter = DomainRouter(), prompts: PromptBuilder,
        resources: CrisisResources, outputGuard: OutputGuard, disclosures: Disclosures, versions: CrisisRecord.Versions,
        domains: DomainConfigurations
    ) {
        self.assessor = assessor
        self.fusion = fusion
        self.router = router
        self.prompts = prompts
        self.resources = resources
        self.outputGuard = outputGuard
        self.disclosures = disclosures
        self.versions = versions
        self.domains = domains
    }

    /// The card for a risk of tier 2 and above, or for the stored level alone; nil when there is none.
    func card(_ risk: RiskAssessment, in region: Region) -> SafetyCard? {
        risk.ofCard.map { resources.card(for: $0, in: region) }
    }

    /// The notice of talking to a machine, when the turn has one.
    func disclosure(_ kind: DisclosureKind?, in region: Region) -> StreamStart.Disclosure? {
        kind.map { StreamStart.Disclosure(text: disclosures.text($0, in: region), version: "\(disclosures.version)") }
    }

    /// The guard of a new answer. At tier 2 and above it releases whole sentences.
    func guardedAnswer(_ safety: SafetyDecision, in region: Region) -> GuardedAnswer {
        GuardedAnswer(outputGuard, language: region.language, holdsSentences: safety.promptTier >= .crisis)
    }

    /// The crisis resources of an error: the card, or all resources when only the stored level is above calm.
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
