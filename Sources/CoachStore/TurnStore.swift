import CoachCore
import PostgresClient

/// Turns in PostgreSQL: each method is one round trip on a shared connection, bound to one user's claims.
public struct TurnStore: Sendable {
    let client: PostgresClient
    private let limits: @Sendable () -> TurnLimits
    let owner: @Sendable () throws -> TurnOwner

    /// `owner` is `GatewayInstance.owner`, asked at every turn as `limits` is, so that a reloaded configuration holds at once.
    public init(
        client: PostgresClient, owner: @escaping @Sendable () throws -> TurnOwner, limits: @escaping @Sendable () -> TurnLimits
    ) {
        self.client = client
        self.owner = owner
        self.limits = limits
    }

    /// What the core sees.
    public var repository: TurnRepository {
        TurnRepository(
            begin: { caller, request, assessment in try await begin(caller, request, risk: assessment.risk) },
            repeated: { caller, request in try await repeated(caller, request) },
            finish: { receipt in try await finish(receipt) })
    }

    /// Begins a turn; see `TurnRepository.begin`. Throws `StoreFault`, or `CancellationError`: then nobody knows whether it began, and only a
    /// request with an idempotency key can be repeated without saying its message twice.
    public func begin(_ caller: Caller, _ request: TurnRequest, risk: RiskAssessment) async throws -> BeginTurnResult {
        let request = BeginTurnRequest(request, risk: risk, limits: limits(), owner: try owner())
        return try await StoreFault.translating {
            do {
                return try await begin(caller, request).opening
            } catch let error as PostgresError where error.isOfRemovedUser {
                let rate = RateLimit(limit: limits().requestsPerMinute, remaining: 0, resetAt: 0)
                return .refused(Rejection(reason: .suspended), rate)
            }
        }
    }

    /// What `begin` would answer without beginning anything; see `TurnRepository.repeated`. Throws `StoreFault`.
    public func repeated(_ caller: Caller, _ request: TurnRequest) async throws -> BeginTurnResult? {
        guard request.idempotencyKey != nil else { return nil }
        let argument = StoredJSON.encode(BeginTurnRequest(request, risk: .calm, limits: limits(), owner: try owner()))
        return try await StoreFault.translating {
            let query = Claims.gateway(for: caller, calling: "gateway.repeated_turn(\(caller.userID), \(argument)::jsonb)")
            let text = try await client.query(query, affinity: caller.userID.affinity) { rows in
                try rows.only { row in try row.value(0, as: String?.self) }
            }
            return try text.map { try StoredJSON.decode(BeginTurnAnswer.self, from: $0).opening }
        }
    }

    /// A new turn on the message of one that has ended; see `TurnRecovery.retry`. Only the latest turn of a conversation's latest message can be
    /// tried again, others are refused as `notFound`, and as `turnInProgress` while any runs there. Throws as `begin`.
    public func retry(_ caller: Caller, _ turnID: TurnID) async throws -> RetryTurnResult {
        let request = BeginTurnRequest(retryOf: turnID, limits: limits(), owner: try owner())
        return try await StoreFault.translating { try await begin(caller, request).retryOpening }
    }

    /// Ends a turn; see `TurnRepository.finish`. May be repeated until it succeeds, from any process: it is booked once.
    @discardableResult
    public func finish(_ receipt: TurnReceipt) async throws -> ReceiptOutcome {
        let argument = StoredJSON.encode(FinishTurnRequest(receipt: receipt))
        let query = Claims.gateway(for: receipt.userID, calling: "gateway.finish_turn(\(receipt.userID), \(argument)::jsonb)")
        return try await StoreFault.translating {
            let text = try await repeatingContended { try await answer(to: query, for: receipt.userID) }
            return try StoredJSON.decode(FinishTurnAnswer.self, from: text).outcome
        }
    }

    /// A turn of a user as it stands, with its text when it has ended; nil when there is none, it is somebody else's, or its
    /// conversation was deleted. Throws `StoreFault`.
    public func load(_ turnID: TurnID, of userID: UserID) async throws -> KnownTurn? {
        try await StoreFault.translating {
            let query = Claims.gateway(for: userID, calling: "gateway.load_turn(\(userID), \(turnID))")
            let text = try await client.query(query, affinity: userID.affinity) { rows in
                try rows.only { row in try row.value(0, as: String?.self) }
            }
            return try text.map { try StoredJSON.decode(KnownTurn.self, from: $0) }
        }
    }

    private func begin(_ caller: Caller, _ request: BeginTurnRequest) async throws -> BeginTurnAnswer {
        let argument = StoredJSON.encode(request)
        let query = Claims.gateway(for: caller, calling: "gateway.begin_turn(\(caller.userID), \(argument)::jsonb)")
        let text = try await repeatingContended { try await answer(to: query, for: caller.userID) }
        return try StoredJSON.decode(BeginTurnAnswer.self, from: text)
    }

    private func answer(to query: Query, for userID: UserID) async throws -> String {
        // JSON is read by the caller's task: the reactor's thread has other work.
        try await client.query(query, affinity: userID.affinity) { rows in try rows.only { row in try row.value(0) } }
    }
}
