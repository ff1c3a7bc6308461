import CoachCore
import TokenRelay

/// From a turn that is begun to an answer that is saved.
extension TurnPipeline {
    /// What was decided about a turn before the model is asked.
    struct Decision: Sendable {
        var facts: TurnFacts
        var safety: SafetyDecision
        /// Shown before any token at tier 2 and above.
        var card: SafetyCard?
        /// False: the fixed text is the answer.
        var callsModel: Bool
    }

    /// Step 5: the message's readings meet the stored safety state and the conversation's domain.
    func decide(
        _ caller: Caller, _ request: TurnRequest, _ assessment: MessageAssessment, _ context: TurnContext, _ httpRequest: TurnHTTPRequest
    ) -> Decision {
        let lastAnswer = context.history.last { $0.role == .assistant }?.content
        let safety = coaching.fusion.fuse(
            assessment.risk, stored: context.safetyLevel,
            coachAskedAboutSafety: context.safetyLevel > .calm && lastAnswer.map(coaching.assessor.asksAboutSafety) ?? false)
        let domain = coaching.router.decide(
            assessment.domains, pinned: request.pinnedDomain, persona: context.persona?.domain,
            conversationDomain: context.conversationDomain)
        let place = Region(
            request, profile: Region(country: context.country, locale: context.locale), acceptLanguage: httpRequest.acceptLanguage)
        let facts = TurnFacts(
            userID: caller.userID, identity: context.identity, day: context.day, domain: domain, personaID: context.persona?.id,
            model: model.firstChoice, risk: safety.risk, country: place.country, locale: place.locale)
        let card = coaching.card(facts.risk, country: facts.country, locale: facts.locale)
        return Decision(facts: facts, safety: safety, card: card, callsModel: context.callsModel)
    }

    /// Step 6: system, domain, safety, persona, context, summary, history, message.
    func compose(_ request: TurnRequest, _ context: TurnContext, _ decision: Decision) -> Prompt {
        coaching.prompts.prompt(
            message: request.message, context: context, domain: decision.facts.domain.domain, safety: decision.safety, card: decision.card)
    }

    /// Step 7: the turn is entered into the registry and the model starts to speak into it; followers chase its end.
    func generate(_ prompt: Prompt, _ decision: Decision) -> LiveTurn {
        let turn = LiveTurn(
            facts: decision.facts, promptTokens: TokenEstimate.tokens(in: prompt),
            safetyText: coaching.fixedText(decision.card, callsModel: decision.callsModel))
        registry.insert(turn)
        turn.generate(with: decision.callsModel ? model : model.silenced, prompt)
        return turn
    }

    /// Step 8: message, usage and cost in one transaction when the model has ended.
    func finish(_ turn: LiveTurn, _ httpRequest: TurnHTTPRequest) {
        let (finalizer, arrivedAt, requestID) = (finalizer, httpRequest.arrivedAt, httpRequest.requestID)
        turn.onOutcome { outcome in
            // Not a child of the request: a closed connection must not end it. Nobody cancels it; a drain waits for the registry.
            Task { await finalizer.finalize(turn, outcome, arrivedAt: arrivedAt, requestID: requestID) }
        }
    }

    /// Instead of 5–8, when the turn exists: running here, running elsewhere, or ended and told again.
    func attach(_ known: KnownTurn) async -> LiveTurn {
        if let turn = registry.turn(known.identity.turnID), turn.facts.identity.attempt == known.identity.attempt { return turn }
        guard known.status == .running else { return LiveTurn(replaying: known, firstChoice: model.firstChoice) }
        // Begun here a moment ago, by a request that has not entered it yet?
        if let turn = await registry.turn(known.identity.turnID, within: .milliseconds(100)),
            turn.facts.identity.attempt == known.identity.attempt
        {
            return turn
        }
        return remoteTurns.tail(known, firstChoice: model.firstChoice)
    }
}

extension LiveTurn {
    /// A saved turn, told again.
    convenience init(replaying known: KnownTurn, firstChoice: ModelName) {
        self.init(
            replaying: TurnFacts(known, firstChoice: firstChoice), content: known.content,
            ending: TurnEnding(status: known.status, finishReason: known.finishReason, bill: known.bill))
    }
}

extension TurnFacts {
    /// What the ledger knows of a turn. Who answered is in its bill.
    init(_ known: KnownTurn, firstChoice: ModelName) {
        self.init(
            userID: known.userID, identity: known.identity, day: known.day, domain: known.domain, personaID: known.personaID,
            model: firstChoice, risk: known.risk, country: known.country, locale: known.locale)
    }
}
