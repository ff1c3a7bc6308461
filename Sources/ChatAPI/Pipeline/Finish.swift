import CoachCore
import TokenRelay

extension TurnPipeline {
    /// Saves message, usage and cost in one transaction when the model call has ended, and replaces the reservation by the cost. `raising` is the result of
    /// `raiseRisk`.
    func finish(
        _ turn: LiveTurn, _ reservation: BudgetReservation?, _ recorder: CallRecorder, after raising: Task<Void, Never>?,
        _ http: TurnHTTPRequest
    ) {
        let (budgets, finalizer, arrivedAt, requestID) = (budgets, finalizer, http.context.arrivedAt, http.context.requestID)
        let (trace, versions) = (http.trace, coaching.versions)
        turn.onOutcome { outcome in
            trace.endCall(outcome)
            // Not a child of the request: a closed connection must not end it. It is never cancelled; a drain waits for the registry.
            Task {
                await raising?.value
                let bills = await trace.step("finish") {
                    await finalizer.finalize(turn, outcome, recorder, versions, arrivedAt: arrivedAt, requestID: requestID)
                }
                trace.end(turn.facts, outcome)
                if let reservation { budgets.charge(reservation, cost: Nanodollars(sumOf: bills.map(\.cost))) }
            }
        }
    }
}
