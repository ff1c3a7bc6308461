import CoachCore
import HTTPEdge

extension TurnPipeline {
    /// Saves danger that was found after the turn began: the state counts from now, and recovery knows it if this process dies. Never fails, because
    /// `finish` saves the risk as well.
    func raiseRisk(of turn: TurnIdentity, _ risk: RiskAssessment, _ http: TurnHTTPRequest) async {
        do {
            try await repository.raiseRisk(http.caller.userID, turn, risk)
        } catch {
            _ = errors.clientError(for: error, requestID: http.context.requestID)
        }
    }
}
