import CoachCore
import HTTPEdge

extension TurnPipeline {
    /// Begins to save danger that was found after the turn began. The safety state then counts from now, and recovery knows the danger if this process
    /// crashes. `finish` waits for it, because it has no effect on a turn that has ended. `finish` saves the risk too, but not the time of the state.
    func raiseRisk(of turn: TurnIdentity, _ risk: RiskAssessment, _ http: TurnHTTPRequest) -> Task<Void, Never> {
        let (repository, errors, userID, requestID) = (repository, errors, http.caller.userID, http.context.requestID)
        // Never cancelled; the limits of the database's client end it.
        return Task {
            do {
                try await repository.raiseRisk(userID, turn, risk)
            } catch {
                _ = errors.clientError(for: error, requestID: requestID)
            }
        }
    }
}
