import CoachCore

extension TurnPipeline {
    /// Asks the judge about a message in the grey zone, when there is one. The message is saved already, and a model may be called. Returns the
    /// assessment, raised when the judge finds more danger, and the calls. Takes the judge's time limit at most; a stop ends it.
    func askJudge(
        _ request: TurnRequest, _ assessment: MessageAssessment, _ context: TurnContext, _ recorder: CallRecorder, _ trace: TurnTrace
    ) async -> (assessment: MessageAssessment, calls: [BilledCall]) {
        guard let judge, context.callsModel, judge.shouldJudge(assessment.risk) else { return (assessment, []) }
        let start = ContinuousClock.now
        let call = await trace.step("judge") { tracing in
            var prompt = coaching.prompts.judgePrompt(message: request.message, after: history(before: request, context))
            prompt.tracing = tracing
            return await JudgeCall(judge: judge).run(prompt, recorder) { cancel in registry.onStop(of: context.identity.turnID, cancel) }
        }
        guard let call else {
            TurnMetrics.judged(.none, since: start)
            return (assessment, [])
        }
        let risk = call.verdict.map { assessment.risk.raised(by: $0) } ?? assessment.risk
        TurnMetrics.judged(call.verdict == nil ? .none : risk.tier > assessment.risk.tier ? .raised : .kept, since: start)
        return (MessageAssessment(risk: risk, domains: assessment.domains), finalizer.billing.bills(call, on: context.day))
    }
}
