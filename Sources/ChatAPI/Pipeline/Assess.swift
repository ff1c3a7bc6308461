import CoachCore

extension TurnPipeline {
    /// Classifies the message: its risk and its scores for each coaching domain, by one pass and, where there is time, the encoder. An ordinary
    /// message is encoded while its turn begins.
    func assess(_ request: TurnRequest) async -> PendingAssessment { await encoderQueue.assess(request.message, by: coaching.assessor) }

    /// The final assessment of a message whose turn has begun.
    func assess(_ request: TurnRequest, _ pending: PendingAssessment, in context: TurnContext) async -> MessageAssessment {
        await encoderQueue.assess(
            pending, of: request.message, after: context.history + (request.supplied?.history ?? []), by: coaching.assessor)
    }
}
