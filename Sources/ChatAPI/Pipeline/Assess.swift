import CoachCore

extension TurnPipeline {
    /// Assesses the message: its risk and its score for each coaching domain, by one pass and, if there is time, by the encoders. An ordinary message is
    /// encoded while its turn begins.
    func assess(_ request: TurnRequest, _ http: TurnHTTPRequest) async -> PendingAssessment {
        let isFirst = request.conversationID == nil && request.supplied?.history.isEmpty != false
        return await encoderQueue.assess(request.message, of: http.caller.userID, isFirst: isFirst, by: coaching.assessor)
    }

    /// The assessment of a message whose turn has begun, so that the stored level and the messages before it are known. `savedTier` is the tier with which
    /// the message was saved. Lowers the assessment of:
    /// - an assurance
    /// - a vague fragment that is answered again, without its context
    /// - a fragment of a user whose stored level is calm, by the messages before it
    func assessInContext(
        _ request: TurnRequest, _ pending: PendingAssessment, savedTier: RiskTier, _ context: TurnContext, _ http: TurnHTTPRequest
    ) async -> MessageAssessment {
        let assessment = await pending.final
        let (stored, history) = (request.level(stored: context.safetyLevel), history(before: request, context))
        let answered = history.last { $0.role == .assistant }?.content
        if savedTier < .crisis, let safe = coaching.assessor.assurance(request.message, assessment, after: answered) { return safe }
        if let earlier = context.earlierRisk, earlier.tier == .crisis, stored <= SafetyFusion.level(of: earlier.tier) {
            // The message is answered again, and has raised the level itself.
            return coaching.assessor.reassessWithoutContext(request.message, assessment)
        }
        guard stored == .calm, savedTier < .crisis, context.callsModel else { return assessment }
        return await encoderQueue.assessFragment(
            request.message, of: http.caller.userID, assessment, after: history, by: coaching.assessor)
    }

    /// The messages before the request's: the stored ones, then those that the client sent.
    func history(before request: TurnRequest, _ context: TurnContext) -> [HistoryMessage] {
        context.history + (request.supplied?.history ?? [])
    }
}
