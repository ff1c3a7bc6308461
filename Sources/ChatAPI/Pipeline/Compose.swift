import CoachCore

extension TurnPipeline {
    /// Builds the prompt: system, domain, safety, persona, context, summary, history, message. Pure.
    func compose(_ request: TurnRequest, _ context: TurnContext, _ decision: Decision) -> Prompt {
        coaching.prompts.prompt(
            message: request.message, context: context, domain: decision.facts.domain.domain, safety: decision.safety, card: decision.card)
    }
}
