import CoachCore
import PostgresClient

extension TurnRepository {
    /// Turns in PostgreSQL. Each closure is one round trip on a shared connection, bound to the claims of one user.
    ///
    /// - Parameters:
    ///   - owner: `GatewayInstance.owner`; called for every turn.
    ///   - tiers: called for every turn, so that a change of the tiers takes effect at once.
    ///   - exhausted: the shared budgets that are exhausted, and on which day; called for every turn.
    public static func postgres(
        client: PostgresClient, owner: @escaping @Sendable () throws -> TurnOwner, tiers: @escaping @Sendable () -> TierBook,
        consents: RequiredConsents = RequiredConsents(), exhausted: @escaping @Sendable () -> [SharedBudget: CalendarDay] = { [:] }
    ) -> TurnRepository {
        TurnRepository(
            begin: { caller, request, assessment in
                let request = BeginTurnRequest(
                    kind: .message(request, assessment.risk), tiers: tiers(), consents: consents, exhausted: exhausted(),
                    owner: try owner())
                return try await client.beginTurn(caller, request)
            },
            repeated: { caller, request in
                guard request.idempotencyKey != nil else { return nil }
                let request = BeginTurnRequest(
                    kind: .message(request, .calm), tiers: tiers(), consents: consents, owner: try owner())
                return try await client.repeatedTurn(caller, request)
            },
            retry: { caller, request in
                let request = BeginTurnRequest(
                    kind: .retry(request), tiers: tiers(), consents: consents, exhausted: exhausted(), owner: try owner())
                return try await client.beginTurn(caller, request)
            },
            repeatedRetry: { caller, request in
                guard request.idempotencyKey != nil else { return nil }
                let request = BeginTurnRequest(kind: .retry(request), tiers: tiers(), consents: consents, owner: try owner())
                return try await client.repeatedTurn(caller, request)
            },
            raiseRisk: { userID, turn, risk in
                let risk = StoredJSON.encode(risk)
                let _: String? = try await client.call(
                    "gateway.raise_risk(\(userID), \(turn.conversationID), \(turn.turnID), \(turn.attempt), \(risk)::jsonb)",
                    boundTo: userID)
            },
            finish: { receipt in
                let argument = StoredJSON.encode(FinishTurnRequest(receipt: receipt))
                let text: String = try await client.call(
                    "gateway.finish_turn(\(receipt.userID), \(argument)::jsonb)", boundTo: receipt.userID)
                return try StoredJSON.decode(ReceiptOutcome.self, from: text)
            },
            abandon: { userID, turn in
                let _: String? = try await client.call(
                    "gateway.abandon_turn(\(userID), \(turn.conversationID), \(turn.turnID), \(turn.attempt))", boundTo: userID)
            })
    }
}
