import CoachCore
import Foundation
import GatewayAPI
import HTTPEdge

extension TurnPipeline {
    /// Reserves the turn's cost in the budgets that users share; nil when no budget applies. In memory, unless this instance's slice is
    /// used up.
    ///
    /// `begin_turn` has already rejected turns of budgets that were known to be exhausted. When a budget turns out to be exhausted here, or
    /// the database does not answer, the turn is ended as failed and an error thrown. A turn with a message at risk, or of a user whose level
    /// with any persona is above calm, continues without a reservation (CONTRACT §4).
    func reserve(
        _ request: TurnRequest, _ assessment: MessageAssessment, _ context: TurnContext, _ http: TurnHTTPRequest
    ) async throws(GatewayError) -> BudgetReservation? {
        let book = tiers.current
        let shared = book.sharedBudgets(of: book.tier(named: context.tier), persona: context.persona?.id)
        guard context.callsModel, let reserve = book.reservePerTurn, !shared.isEmpty else { return nil }
        let mayProceedWithout = assessment.risk.tier >= .crisis || context.highestLevel != .calm
        do {
            if let reservation = try await budgets.reserve(reserve, of: shared, on: context.day) { return reservation }
        } catch {
            if mayProceedWithout { return nil }
            registry.withdraw(context.identity.turnID)
            // Not awaited, because the database is away and CONTRACT §4 limits the time to the error. Never cancelled, as in `finish`.
            Task { await end(context, .databaseUnavailable, http) }
            var failure = self.failure(error, assessment.risk, request, http)
            failure.hasBegunTurn = true
            http.trace.end(failure)
            throw failure
        }
        if mayProceedWithout { return nil }
        registry.withdraw(context.identity.turnID)
        await end(context, .quotaExhausted, http)
        let exhausted = Set(budgets.exhausted(on: context.day))
        let midnight = context.day.endUnixSeconds
        let rejection = Rejection(
            reason: .budgetExhausted, retryAfter: max(1, midnight - Int(Date().timeIntervalSince1970)), resetAt: midnight,
            tier: context.tier, sharedBudget: shared.map { $0.budget }.filter(exhausted.contains).decisiveScope, region: context.region)
        var error = rejected(rejection, request, assessment, http)
        error.hasBegunTurn = true
        http.trace.end(error)
        throw error
    }

    /// Ends a turn as failed, and takes its message back from those of the user's day. A next attempt of the turn is not counted either.
    private func end(_ context: TurnContext, _ code: ErrorCode, _ http: TurnHTTPRequest) async {
        await finalizer.reject(context, of: http.caller.userID, code: code, requestID: http.context.requestID)
        // The first alone was counted.
        guard context.identity.attempt == 1 else { return }
        // Not repeated, because it might take back two: while the database is away, the message stays counted.
        try? await counter.giveBackMessage(http.caller, context.day)
    }
}
