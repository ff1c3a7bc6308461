import CoachCore
import GatewayAPI
import TokenRelay

/// What a client asks of a turn that it knows: follow it, stop it, try it again.
extension TurnPipeline {
    /// The caller's turn, wherever it runs; 404 for everybody else's. A turn that runs here is told without the database, too.
    func find(_ caller: Caller, _ turnID: TurnID, _ httpRequest: TurnHTTPRequest) async throws(GatewayError) -> TurnSubscription {
        let local = registry.turn(turnID).flatMap { $0.facts.userID == caller.userID ? $0 : nil }
        let counted = try await count(caller, httpRequest, optional: local != nil)
        if let local { return TurnSubscription(turn: local, rate: counted?.rate) }
        return try await telling(counted, httpRequest) {
            guard let known = try await recovery.load(caller.userID, turnID) else { throw GatewayError.notFound }
            return TurnSubscription(turn: await attach(known), rate: counted?.rate)
        }
    }

    /// Whether this process runs a turn: nobody can have read further than it has said.
    func isRunning(here turn: LiveTurn) -> Bool { registry.turn(turn.facts.identity.turnID) === turn }

    /// One request of the caller's minute; nil when it is `optional` and the database is away.
    private func count(_ caller: Caller, _ httpRequest: TurnHTTPRequest, optional: Bool) async throws(GatewayError) -> CountedRequest? {
        do {
            return try await count(caller, httpRequest)
        } catch {
            if optional, error.code == .databaseUnavailable { return nil }
            throw error
        }
    }

    /// The rest of a request that was counted: every refusal says what is left, and carries resources when the stored state tells of danger.
    private func telling<Answer>(
        _ counted: CountedRequest?, _ httpRequest: TurnHTTPRequest, _ body: () async throws -> Answer
    ) async throws(GatewayError) -> Answer {
        do {
            return try await body()
        } catch {
            var rejection = understood(error)
            rejection.rate = counted?.rate
            rejection.safety = counted.flatMap { crisisResources($0, httpRequest) }
            throw rejection
        }
    }

    /// Ends a turn of the caller: what was said is kept and billed. Returns how it stands; idempotent. A turn that runs here is stopped without
    /// the database, too.
    func stop(_ caller: Caller, _ turnID: TurnID, _ httpRequest: TurnHTTPRequest) async throws(GatewayError) -> StoppedTurn {
        let local = registry.turn(turnID).flatMap { $0.facts.userID == caller.userID ? $0 : nil }
        let counted = try await count(caller, httpRequest, optional: local != nil)
        if let local {
            local.stop()
            return StoppedTurn(status: await ending(of: local), rate: counted?.rate)
        }
        return try await telling(counted, httpRequest) {
            guard try await recovery.requestStop(caller, turnID), let known = try await recovery.load(caller.userID, turnID) else {
                throw GatewayError.notFound
            }
            let isRunning = known.status == .running
            let status = isRunning ? await ending(of: remoteTurns.tail(known, firstChoice: model.firstChoice)) : known.status
            return StoppedTurn(status: status, rate: counted?.rate)
        }
    }

    /// A new turn on the same user message.
    func retry(_ httpRequest: TurnHTTPRequest, _ caller: Caller, _ turnID: TurnID) async throws(GatewayError) -> TurnSubscription {
        do {
            try admission.check()
            switch try await recovery.retry(caller, turnID) {
            case .refused(let rejection, let rate):
                throw self.rejection(rejection, rate, httpRequest)
            case .begun(let context, let message, let rate):
                let request = TurnRequest(
                    message: message, pinnedDomain: context.pinnedDomain, locale: context.locale, country: context.country)
                return TurnSubscription(turn: answer(caller, request, assess(request), context, httpRequest), rate: rate)
            }
        } catch {
            throw understood(error)
        }
    }

    /// Waits a moment for the end, so that the answer to a stop says how the turn ended.
    private func ending(of turn: LiveTurn) async -> TurnStatus {
        let deadline = ContinuousClock.now + .seconds(2)
        let subscriber = Subscriber(deliversAtEnd: true)
        guard turn.add(subscriber, limit: .max) else { return .running }
        defer { turn.remove(subscriber) }
        while turn.ending == nil, ContinuousClock.now < deadline, (try? await Task.sleep(for: .milliseconds(5))) != nil {}
        return turn.ending?.status ?? .running
    }
}
