import CoachCore
import GatewayAPI

/// What the product knows about coaching and danger, compiled from `domains/` and `prompts/`. Immutable; a reload makes a new one.
public struct Coaching: Sendable {
    let assessor: MessageAssessor
    let fusion: SafetyFusion
    let router: DomainRouter
    let prompts: PromptBuilder
    let resources: CrisisResources

    public init(
        assessor: MessageAssessor, fusion: SafetyFusion, router: DomainRouter = DomainRouter(), prompts: PromptBuilder,
        resources: CrisisResources
    ) {
        self.assessor = assessor
        self.fusion = fusion
        self.router = router
        self.prompts = prompts
        self.resources = resources
    }

    /// The card for a risk of tier 2 and above; below, nothing is shown.
    func card(_ risk: RiskAssessment, country: String?, locale: String?) -> SafetyCard? {
        risk.tier >= .crisis ? resources.card(for: risk, country: country, locale: locale) : nil
    }

    /// What a refusal carries: the card, or everything there is when only the stored state tells of danger.
    func crisisResources(_ risk: RiskAssessment, stored: SafetyLevel = .calm, at place: Region) -> StreamSafety? {
        let card = card(risk, country: place.country, locale: place.locale)
        let general = stored > .calm ? resources.all(country: place.country, locale: place.locale) : nil
        return (card ?? general).map(StreamSafety.init)
    }

    /// The fixed answer for when every model fails at tier 3 and above, or when no model may be called at tier 2 and above.
    func fixedText(_ card: SafetyCard?, callsModel: Bool) -> [UInt8]? {
        card.flatMap { $0.tier >= (callsModel ? .high : .crisis) ? Array($0.fixedAnswer.utf8) : nil }
    }
}

extension StreamSafety {
    /// The card as the wire shows it.
    init(_ card: SafetyCard) {
        self.init(
            severity: card.severity == .acute ? .acute : .concern, tier: card.tier.rawValue, categories: card.categories.map(\.rawValue),
            resources: card.resources.map {
                SafetyResource(name: $0.name, phone: $0.phone, sms: $0.sms, url: $0.url, hours: $0.hours, country: $0.country)
            },
            message: card.message)
    }
}
