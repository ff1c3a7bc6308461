import CoachCore
import Identity
import TokenRelay

/// The way of a turn, step by step. Each step is a function in a file of its own name beside this one.
struct TurnPipeline: Sendable {
    let identity: TokenVerifier
    let coaching: Coaching
    let ledger: TurnLedger
    let model: LanguageModel
    let settlement: TurnSettlement
    let registry: TurnRegistry
    let mirrors: Mirrors
    let keeper: TurnKeeper
    let counter: RequestCounter
    let admission: Admission

    /// From the request to a turn that runs, or to one that is told again. The answer streams from it while it is spoken; what was
    /// begun is finished whether or not anybody listens.
    /// The body is read when it is known whose it is.
    func open(_ ask: TurnAsk, body: () async throws -> [UInt8]) async throws(GatewayError) -> OpenTurn {
        let caller = try await authenticate(ask)
        return try await counting(caller, ask) { () async throws(GatewayError) in
            var ask = ask
            do { ask.body = try await body() } catch { throw understood(error) }
            return try await open(ask, by: caller)
        }
    }

    private func open(_ ask: TurnAsk, by caller: Caller) async throws(GatewayError) -> OpenTurn {
        let request = try await parse(ask, by: caller)
        let assessment = assess(request)
        let opening = try await begin(caller, request, assessment, ask)
        switch opening {
        case .begun(let context, let rate):
            return OpenTurn(turn: answer(caller, request, assessment, context, ask), rate: rate)
        case .known(let known, let rate):
            return OpenTurn(turn: await attach(known), rate: rate, isRepeated: true)
        case .refused(let refusal, let rate):
            throw self.refusal(refusal, rate, request, assessment, ask)
        }
    }

    /// The second half: from a turn that is begun to one that is spoken, and will be saved.
    func answer(
        _ caller: Caller, _ request: TurnRequest, _ assessment: MessageAssessment, _ context: TurnContext, _ ask: TurnAsk
    ) -> LiveTurn {
        let decision = decide(caller, request, assessment, context, ask)
        let prompt = compose(request, context, decision)
        let turn = generate(prompt, decision)
        finish(turn, ask)
        return turn
    }
}

/// A turn as the edge received it.
struct TurnAsk: Sendable {
    var authorization: String?
    var idempotencyKey: String?
    var acceptLanguage: String?
    var body: [UInt8] = []
    var arrivedAt: ContinuousClock.Instant
    var requestID: String
}

/// How a turn stands that was to be stopped, and what is left of the caller's request budget.
struct StoppedTurn: Sendable {
    var status: TurnStatus
    /// nil when nothing was counted.
    var rate: RateLimit?
}

/// A turn to follow, and what is left of the caller's request budget.
struct OpenTurn: Sendable {
    var turn: LiveTurn
    /// nil when nothing was counted.
    var rate: RateLimit?
    /// The same request was made before.
    var isRepeated = false
}
