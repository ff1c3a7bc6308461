import CoachCore

extension TurnPipeline {
    /// Classifies the message: its risk and its scores for each coaching domain, by one pass and, where there is time, the encoder. An ordinary
    /// message is encoded while its turn begins.
    func assess(_ request: TurnRequest, _ http: TurnHTTPRequest) async -> PendingAssessment {
        let isFirst = request.conversationID == nil && request.supplied?.history.isEmpty != false
        return await encoderQueue.assess(request.message, of: http.caller.userID, isFirst: isFirst, by: coaching.assessor)
    }

    /// The assessment of a message whose turn has begun. A fragment is assessed again, with the user's messages before it. That is not done when danger
    /// was found before, or when the user was in danger as the turn began.
    /// - Parameter savedTier: of the message in the database.
    func assessInContext(
        _ request: TurnRequest, _ pending: PendingAssessment, savedTier: RiskTier, _ context: TurnContext, _ http: TurnHTTPRequest
    ) async -> MessageAssessment {
        let assessment = await pending.final
        let (stored, history) = (request.level(stored: context.safetyLevel), history(before: request, context))
        let answered = history.last { $0.role == .assistant }?.content
        if savedTier < .crisis, let safe = coaching.assessor.assurance(request.message, assessment, after: answered) { return safe }
        if let earlier = context.earlierRisk, earlier.tier == .crisis, stored <= SafetyFusion.level(of: earlier.tier) {
            // A retry: the message itself has raised the level.
            return coaching.assessor.reassessWithoutContext(request.message, assessment)
        }
        guard stored == .calm, savedTier < .crisis, context.callsModel else { return assessment }
        return await encoderQueue.assessFragment(
            request.message, of: http.caller.userID, assessment, after: history, by: coaching.assessor)
    }

    /// The messages before: those that are stored, then those that the client sent.
    func history(before request: TurnRequest, _ context: TurnContext) -> [HistoryMessage] {
        context.history + (request.supplied?.history ?? [])
    }
}
