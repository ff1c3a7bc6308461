import CoachCore
import GatewayAPI
import HTTPEdge
import Hummingbird
import TokenRelay

/// Requests for an existing turn: resume, stop, retry.
extension TurnPipeline {
    /// The caller's turn, whether it runs here, runs on another instance, or has ended; throws 404 for turns of other users. A turn that
    /// runs here is found without the database.
    func find(_ turnID: TurnID, _ http: TurnHTTPRequest) async throws -> LiveTurn {
        if let turn = localTurn(turnID, of: http.caller) { return turn }
        try await http.context.requireCounted()
        guard let known = try await recovery.load(http.caller.userID, turnID) else { throw GatewayError.notFound }
        return await attach(known)
    }

    /// Whether the turn runs in this process: then no client can have read more text than it has released.
    func isLocal(_ turn: LiveTurn) -> Bool { registry.turn(turn.facts.identity.turnID) === turn }

    /// Stops a turn of the caller, waits for its end, and returns it; released text is kept and billed. When the turn has not ended in that
    /// time, it is returned as it still runs, and stops later. Idempotent. A turn that runs here is stopped without the database.
    func stop(_ turnID: TurnID, _ http: TurnHTTPRequest, waitingFor timeout: Duration = .seconds(2)) async throws -> LiveTurn {
        let turn = try await stopping(turnID, http)
        _ = await turn.ending(within: timeout)
        return turn
    }

    /// The turn, which has ended or was asked to stop.
    private func stopping(_ turnID: TurnID, _ http: TurnHTTPRequest) async throws -> LiveTurn {
        if let turn = localTurn(turnID, of: http.caller) {
            turn.stop()
            return turn
        }
        // Begun here, and not generating yet.
        if registry.isAnnounced(turnID, of: http.caller.userID) {
            registry.stop(turnID)
            if let turn = await registry.turn(turnID, within: .seconds(2)) { return turn }
        }
        try await http.context.requireCounted()
        guard try await recovery.requestStop(http.caller, turnID), let known = try await recovery.load(http.caller.userID, turnID) else {
            throw GatewayError.notFound
        }
        guard known.status == .running else { return LiveTurn(replaying: known, firstChoice: firstChoice(of: known)) }
        return await tail(known)
    }

    /// How often a turn of another instance is read again until its owner's first checkpoint, and the pause between. It is a second in all, because the
    /// owner may have crashed before that checkpoint.
    private static let decisionReads = (count: 10, pause: Duration.milliseconds(100))

    /// A turn of another instance, with its owner's decisions. They come with its first checkpoint; without them a stream would have no card.
    ///
    /// It polls, because a checkpoint sends no notification. A notification would hold a lock of the whole PostgreSQL server through the commit, and each
    /// instance checkpoints four times a second. Few requests come between a turn's beginning and its first checkpoint, at most 250 ms later.
    private func tail(_ known: KnownTurn) async -> LiveTurn {
        var known = known
        for _ in 0..<Self.decisionReads.count where !known.isDecided {
            guard (try? await Task.sleep(for: Self.decisionReads.pause)) != nil,
                let later = try? await recovery.load(known.userID, known.identity.turnID)
            else { break }
            known = later
        }
        return remoteTurns.tail(known, firstChoice: firstChoice(of: known))
    }

    /// Begins a new turn on the user message of a turn that has ended, and streams it. A repeated request with its key gets the turn that it began.
    func retry(_ turnID: TurnID, _ http: TurnHTTPRequest) async throws -> Response {
        let key = try IdempotencyKey.resolve(header: http.idempotencyKey, body: nil)
        return try relay(try await start(RetryRequest(of: turnID, idempotencyKey: key?.text), http), from: .start, http)
    }

    /// As `start` of a new message, for a retry.
    private func start(_ retry: RetryRequest, _ http: TurnHTTPRequest) async throws -> TurnSubscription {
        let started: StartedTurn = try await admission.admitting { overload in
            switch try await http.trace.step("begin", { try await beginRetry(retry, unless: overload, http) }) {
            case .known(let known, _):
                return .known(known)
            case .rejected(let rejection, _):
                throw rejected(rejection, TurnRequest(message: ""), .calm, http)
            case .begun(let context, let message, _):
                let request = TurnRequest(message: message, pinnedDomain: context.pinnedDomain, region: context.region)
                let pending = await http.trace.step("assess") { await assess(request, http) }
                let savedRisk = context.savedRisk ?? context.earlierRisk ?? .calm
                return .new(try await continueBegun(request, pending, savedRisk: savedRisk, context, http))
            }
        }
        return await subscription(to: started, http)
    }

    /// As `begin`, for a retry.
    private func beginRetry(
        _ request: RetryRequest, unless overload: GatewayError?, _ http: TurnHTTPRequest
    ) async throws(GatewayError) -> BeginTurnResult {
        do {
            let result = try await admitted(
                unless: overload, orRepeated: { try await repository.repeatedRetry(http.caller, request) }
            ) {
                try await repository.retry(http.caller, request)
            }
            http.context.rateLimit.record(result.rate)
            return result
        } catch {
            throw failure(error, .calm, TurnRequest(message: ""), http)
        }
    }

    /// The `LiveTurn` to subscribe to for an existing turn: the running one here, a tail of one on another instance, or a replay.
    func attach(_ known: KnownTurn) async -> LiveTurn {
        if let turn = registry.turn(known.identity.turnID), turn.facts.identity.attempt == known.identity.attempt { return turn }
        guard known.status == .running else { return LiveTurn(replaying: known, firstChoice: firstChoice(of: known)) }
        // Another request may have just begun it here and not inserted it into the registry yet, because it asks the judge before. What the database has
        // of such a turn does not tell whether it has a card.
        let isBeginningHere = registry.isAnnounced(known.identity.turnID, of: known.userID)
        if let turn = await registry.turn(known.identity.turnID, within: isBeginningHere ? .seconds(2) : .milliseconds(100)),
            turn.facts.identity.attempt == known.identity.attempt
        {
            return turn
        }
        return await tail(known)
    }

    /// The first choice of the route by which the turn was begun, as it is configured now.
    private func firstChoice(of known: KnownTurn) -> ModelName {
        models.model(tiers.current.tier(named: known.tier), known.domain.domain, known.personaID).firstChoice
    }

    private func localTurn(_ turnID: TurnID, of caller: Caller) -> LiveTurn? {
        registry.turn(turnID).flatMap { $0.facts.userID == caller.userID ? $0 : nil }
    }
}

extension MessageAssessment {
    /// For requests without a message.
    fileprivate static let calm = MessageAssessment(risk: .calm, domains: .zero)
}

extension LiveTurn {
    /// Replays a saved turn.
    convenience init(replaying known: KnownTurn, firstChoice: ModelName) {
        self.init(
            replaying: TurnFacts(known, firstChoice: firstChoice), content: known.content, ending: TurnEnding(known))
    }
}

extension TurnFacts {
    /// The facts of an existing turn. The model that answered is in its bill.
    init(_ known: KnownTurn, firstChoice: ModelName) {
        self.init(
            userID: known.userID, identity: known.identity, day: known.day, domain: known.domain, personaID: known.personaID,
            model: firstChoice, risk: known.risk, region: known.region, disclosure: known.disclosure, startedAt: known.startedAt)
        storedLevel = known.safetyLevel
        hasLostAttempt = known.hasLostAttempt
    }
}
