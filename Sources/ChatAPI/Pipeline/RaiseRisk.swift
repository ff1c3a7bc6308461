import CoachCore
import HTTPEdge

extension TurnPipeline {
    /// Begins to save danger that was found after the turn began: the state counts from now, and recovery knows it if this process dies. Nothing that
    /// the user sees waits for it or depends on it; `finish` saves the risk as well.
    func raiseRisk(of turn: TurnIdentity, _ risk: RiskAssessment, _ http: TurnHTTPRequest) {
        let (repository, errors, userID, requestID) = (repository, errors, http.caller.userID, http.context.requestID)
        // Never cancelled; the limits of the database's client end it.
        Task {
            do {
                try await repository.raiseRisk(userID, turn, risk)
            } catch {
                _ = errors.clientError(for: error, requestID: requestID)
            }
        }
    }
}
