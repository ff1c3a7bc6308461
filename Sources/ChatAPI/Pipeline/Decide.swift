import CoachCore

extension TurnPipeline {
    /// The decisions about a turn before the model call.
    struct Decision: Sendable {
        var facts: TurnFacts
        var safety: SafetyDecision
        /// Sent before any token at tier 2 and above.
        var card: SafetyCard?
        /// False: the fixed text is the answer.
        var callsModel: Bool
    }

    /// Fuses the message's scores with the stored safety level and the conversation's domain. Pure.
    func decide(
        _ request: TurnRequest, _ assessment: MessageAssessment, _ context: TurnContext, _ http: TurnHTTPRequest
    ) -> Decision {
        let lastAnswer = context.history.last { $0.role == .assistant }?.content
        let safety = coaching.fusion.fuse(
            assessment.risk, stored: context.safetyLevel,
            coachAskedAboutSafety: context.safetyLevel > .calm && lastAnswer.map(coaching.assessor.asksAboutSafety) ?? false)
        let domain = coaching.router.decide(
            assessment.domains, pinned: request.pinnedDomain, persona: context.persona?.domain,
            conversationDomain: context.conversationDomain)
        let facts = TurnFacts(
            userID: http.caller.userID, identity: context.identity, day: context.day, domain: domain, personaID: context.persona?.id,
            model: model.firstChoice, risk: safety.risk, region: http.region(request, profile: context.region))
        return Decision(facts: facts, safety: safety, card: coaching.card(facts.risk, in: facts.region), callsModel: context.callsModel)
    }
}
