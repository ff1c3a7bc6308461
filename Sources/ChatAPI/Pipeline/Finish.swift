import TokenRelay

extension TurnPipeline {
    /// Saves message, usage and cost in one transaction when the model call has ended.
    func finish(_ turn: LiveTurn, _ http: TurnHTTPRequest) {
        let (finalizer, arrivedAt, requestID) = (finalizer, http.context.arrivedAt, http.context.requestID)
        turn.onOutcome { outcome in
            // Not a child of the request: a closed connection must not end it. It is never cancelled; a drain waits for the registry.
            Task { await finalizer.finalize(turn, outcome, arrivedAt: arrivedAt, requestID: requestID) }
        }
    }
}
