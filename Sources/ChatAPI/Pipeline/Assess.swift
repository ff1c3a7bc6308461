import CoachCore

extension TurnPipeline {
    /// Classifies the message: its risk and its scores for each coaching domain, by one pass and, where there is time, the encoder. An ordinary
    /// message is encoded while its turn begins.
    func assess(_ request: TurnRequest) async -> PendingAssessment { await encoderQueue.assess(request.message, by: coaching.assessor) }
}
