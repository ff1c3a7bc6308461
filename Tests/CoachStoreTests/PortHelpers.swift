import CoachCore
import CoachStore
import PostgresClient
import TestSupport

/// The turn ports of one owner, as a gateway has them.
struct TurnPorts: Sendable {
    let repository: TurnRepository
    let recovery: TurnRecovery

    /// - Parameter recoveryClient: for leases, checkpoints and others' text; nil: `client`.
    init(
        client: PostgresClient, recoveryClient: PostgresClient? = nil, owner: @escaping @Sendable () throws -> TurnOwner,
        tiers: TierBook = TierBook()
    ) {
        repository = .postgres(client: client, owner: owner, tiers: { tiers })
        let recoveryClient = recoveryClient ?? client
        recovery = .postgres(client: client, checkpointClient: recoveryClient, textClient: recoveryClient, owner: owner)
    }

    func begin(_ caller: Caller, _ request: TurnRequest, risk: RiskAssessment) async throws -> BeginTurnResult {
        try await repository.begin(
            caller, request,
            MessageAssessment(risk: risk, domains: DomainScores(values: Domain.allCases.map { _ in 0 }, none: 1, wordCount: 1)))
    }

    func repeated(_ caller: Caller, _ request: TurnRequest) async throws -> BeginTurnResult? {
        try await repository.repeated(caller, request)
    }

    @discardableResult
    func finish(_ receipt: TurnReceipt) async throws -> ReceiptOutcome { try await repository.finish(receipt) }

    func renewLease() async throws -> [TurnID] { try await recovery.renewLease() }

    func checkpoint(_ turns: [TurnProgress], neededFrom: Int64 = 0) async throws -> Int64? {
        try await recovery.checkpoint(turns, neededFrom)
    }

    func load(_ turnID: TurnID, for caller: Caller) async throws -> KnownTurn? { try await recovery.load(caller.userID, turnID) }

    func tail(_ cursors: [TurnCursor]) async throws -> [TurnTail] { try await recovery.tail(cursors) }

    func requestStop(_ caller: Caller, _ turnID: TurnID) async throws -> Bool { try await recovery.requestStop(caller, turnID) }

    func orphans(without tried: [TurnID] = []) async throws -> [OrphanedTurn] { try await recovery.orphans(tried) }

    func retry(_ caller: Caller, _ turnID: TurnID, key: String? = nil) async throws -> BeginTurnResult {
        try await repository.retry(caller, RetryRequest(of: turnID, idempotencyKey: key))
    }

    /// Runs one complete turn and returns its identity.
    @discardableResult
    func talk(
        _ caller: Caller, _ message: String, in conversation: ConversationID? = nil, answer: String = "Good question.",
        status: TurnStatus = .complete
    ) async throws -> TurnIdentity {
        let context = try await begin(caller, TurnRequest(message: message, conversationID: conversation), risk: .calm).begun
        var receipt = status == .failed ? TurnReceipt.failed(context.identity, of: caller) : .complete(context.identity, of: caller, answer)
        receipt.status = status
        try await finish(receipt)
        return context.identity
    }
}

extension ConversationRepository {
    func list(
        _ caller: Caller, source: ConversationSource = .app, limit: Int, cursor: String? = nil, updatedSince: String? = nil
    ) async throws -> Page<ConversationRecord> {
        try await list(caller, source, PageRequest(limit: limit, cursor: cursor, updatedSince: updatedSince))
    }

    func messages(
        _ caller: Caller, _ id: ConversationID, _ order: MessageOrder = .oldestFirst, limit: Int, cursor: String? = nil,
        updatedSince: String? = nil
    ) async throws -> Page<MessageRecord> {
        try await messages(caller, id, order, PageRequest(limit: limit, cursor: cursor, updatedSince: updatedSince))
    }

    func create(
        _ caller: Caller, title: String? = nil, domain: Domain? = nil, personaID: PersonaID? = nil
    ) async throws -> ConversationRecord {
        try await create(caller, ConversationDraft(title: title, domain: domain, personaID: personaID))
    }
}

extension PersonaRepository {
    func publish(_ caller: Caller, _ id: PersonaID, _ visibility: PersonaVisibility?) async throws -> Bool {
        try await publish(caller, id, nil, visibility, "request")
    }

    func unpublish(_ caller: Caller, _ id: PersonaID) async throws { try await unpublish(caller, id, nil, "request") }

    func delete(_ caller: Caller, _ id: PersonaID) async throws { try await delete(caller, id, nil) }
}

extension RequestCounter {
    /// Nil when the request was counted.
    func rejection(of caller: Caller) async throws -> Rejection.Reason? {
        do {
            _ = try await take(caller)
            return nil
        } catch let rejected as CountedRejection {
            return rejected.rejection.reason
        }
    }
}

extension StoreFixture {
    /// Folds until the rollups have everything that was booked before the call, and know it: a transaction elsewhere in the cluster may hold the
    /// watermark back.
    func foldRollups() async throws {
        let now = try await admin.query("select clock_timestamp()::text") { rows in
            try rows.only { row in try row.value(0, as: String.self) }
        }
        try await eventually("everything is folded") {
            _ = try await Rollups.postgres(client: gateway).fold()
            return try await count("select count(*) from gateway.rollup_state s where s.as_of >= \(now)::timestamptz") == 1
        }
    }
}
