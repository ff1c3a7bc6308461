import CoachCore
import TokenRelay

extension TurnPipeline {
    /// Adds the turn to the registry and starts the model call, unless the turn was stopped before.
    func generate(_ prompt: Prompt, _ decision: Decision, _ recorder: CallRecorder) -> LiveTurn {
        let turn = LiveTurn(
            facts: decision.facts, promptTokens: TokenEstimate.tokens(in: prompt),
            opening: coaching.opening(decision.card, callsModel: decision.callsModel),
            safetyText: coaching.fixedText(decision.card, callsModel: decision.callsModel),
            outputGuard: coaching.guardedAnswer(decision.safety, in: decision.facts.region),
            recordedCalls: { recorder.numbers(of: .answer) })
        registry.insert(turn)
        let callsModel = decision.callsModel && !turn.isStopping
        turn.generate(
            with: callsModel ? decision.model : decision.model.silenced, prompt, beforeRequest: recorder.beforeRequest(.answer))
        return turn
    }
}
