import CoachCore
import Foundation

extension TurnPipeline {
    /// The decisions about a turn before the model call.
    struct Decision: Sendable {
        var facts: TurnFacts
        var safety: SafetyDecision
        /// The crisis resources that are sent before the first token; nil below risk tier 2.
        var card: SafetyCard?
        var model: LanguageModel
        /// False when a fixed text is the answer.
        var callsModel: Bool
    }

    /// Combines the message's assessment with the stored safety level, the conversation's domain and the user's tier. Pure, except that it
    /// reads the current tiers. `savedRisk` is the one with which the turn was begun, `now` is when the answer begins.
    func decide(
        _ request: TurnRequest, _ assessment: MessageAssessment, savedRisk: RiskAssessment, _ context: TurnContext, _ http: TurnHTTPRequest,
        now: Date
    ) -> Decision {
        // The question is read only if it matters, because this takes as long as to assess a message.
        let question = coaching.fusion.hasFollowUp(assessment.risk) ? context.history.last { $0.role == .assistant }?.content : nil
        var safety = coaching.fusion.fuse(
            assessment.risk, stored: context.safetyLevel, earlier: context.earlierRisk, earlierDanger: context.earlierDanger,
            question: question.map(coaching.assessor.question(in:)) ?? CoachQuestion(), turnNumber: context.turnNumber)
        // The turn began only to be answered by the fixed text of this risk, for which levels with other personas count, too.
        if !context.callsModel { safety.raise(to: savedRisk) }
        let tier = tiers.current.tier(named: context.tier)
        let domain = DomainRouter.decide(
            assessment.domains, pinned: request.pinnedDomain, persona: context.persona?.domain,
            conversationDomain: context.conversationDomain
        ).within(tier)
        let model = models.model(tier, domain.domain, context.persona?.id)
        var facts = TurnFacts(
            userID: http.caller.userID, identity: context.identity, day: context.day, domain: domain, personaID: context.persona?.id,
            model: model.firstChoice, risk: safety.risk, region: http.region(request, profile: context.region),
            disclosure: context.disclosure, summaryTokens: context.callsModel && context.needsSummary ? tier.history.tokens : nil,
            startedAt: Int(now.timeIntervalSince1970))
        facts.storedLevel = request.level(stored: context.highestLevel)
        facts.hasLostAttempt = context.hasLostAttempt
        return Decision(
            facts: facts, safety: safety, card: coaching.card(facts.risk, in: facts.region), model: model, callsModel: context.callsModel)
    }
}

extension DomainDecision {
    /// The decision without the domain if the tier does not include it: the prompt is then the generic one (CONTRACT §4).
    fileprivate func within(_ tier: Tier) -> DomainDecision {
        guard let domain, !tier.allows(domain) else { return self }
        return DomainDecision(domain: nil, confidence: confidence, source: .abstained)
    }
}
