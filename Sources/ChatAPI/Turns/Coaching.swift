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
    public let domains: DomainConfigurations

    public init(
        assessor: MessageAssessor, fusion: SafetyFusion, router: DomainRouter = DomainRouter(), prompts: PromptBuilder,
        resources: CrisisResources, outputGuard: OutputGuard, domains: DomainConfigurations
    ) {
        self.assessor = assessor
        self.fusion = fusion
        self.router = router
        self.prompts = prompts
        self.resources = resources
        self.outputGuard = outputGuard
        self.domains = domains
    }

    /// The card for a risk of tier 2 and above; nil below.
    func card(_ risk: RiskAssessment, in region: Region) -> SafetyCard? {
        risk.tier >= .crisis ? resources.card(for: risk, in: region) : nil
    }

    /// The guard of a new answer. At tier 2 and above it releases whole sentences.
    func guardedAnswer(_ safety: SafetyDecision, in region: Region) -> GuardedAnswer {
        GuardedAnswer(outputGuard, language: region.language, holdsSentences: safety.promptTier >= .crisis)
    }

    /// The crisis resources of an error: the card, or all resources when only the stored level is above calm.
    func crisisResources(_ risk: RiskAssessment, stored: SafetyLevel = .calm, in region: Region) -> StreamSafety? {
        card(risk, in: region).map(StreamSafety.init) ?? resources.resources(stored: stored, in: region)
    }

    /// The fixed answer for when every model fails at tier 3 and above, or when no model may be called at tier 2 and above.
    func fixedText(_ card: SafetyCard?, callsModel: Bool) -> [UInt8]? {
        card.flatMap { $0.tier >= (callsModel ? .high : .crisis) ? Array($0.fixedAnswer.utf8) : nil }
    }
}
