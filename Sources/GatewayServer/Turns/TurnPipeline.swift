import CoachCore
import Identity
import TokenRelay

/// The way of a turn, step by step. Each step is a function in a file of its own name beside this one.
struct TurnPipeline: Sendable {
    let identity: TokenVerifier
    let coaching: Coaching
    let repository: TurnRepository
    let model: LanguageModel
    let finalizer: TurnFinalizer
    let registry: TurnRegistry
    let remoteTurns: RemoteTurnTailer
    let recovery: TurnRecovery
    let counter: RequestCounter
    let admission: Admission

    /// From the request to a turn that runs, or to one that is told again. The answer streams from it while it is spoken; what was
    /// begun is finished whether or not anybody listens.
    /// The body is read when it is known whose it is.
    func open(_ httpRequest: TurnHTTPRequest, body: () async throws -> [UInt8]) async throws(GatewayError) -> TurnSubscription {
        let caller = try await authenticate(httpRequest)
        return try await counting(caller, httpRequest) { () async throws(GatewayError) in
            var httpRequest = httpRequest
            do { httpRequest.body = try await body() } catch { throw understood(error) }
            return try await open(httpRequest, by: caller)
        }
    }

    private func open(_ httpRequest: TurnHTTPRequest, by caller: Caller) async throws(GatewayError) -> TurnSubscription {
        let request = try await parse(httpRequest, by: caller)
        let assessment = assess(request)
        let opening = try await begin(caller, request, assessment, httpRequest)
        switch opening {
        case .begun(let context, let rate):
            return TurnSubscription(turn: answer(caller, request, assessment, context, httpRequest), rate: rate)
        case .known(let known, let rate):
            return TurnSubscription(turn: await attach(known), rate: rate, isRepeated: true)
        case .refused(let rejection, let rate):
            throw self.rejection(rejection, rate, request, assessment, httpRequest)
        }
    }

    /// The second half: from a turn that is begun to one that is spoken, and will be saved.
    func answer(
        _ caller: Caller, _ request: TurnRequest, _ assessment: MessageAssessment, _ context: TurnContext, _ httpRequest: TurnHTTPRequest
    ) -> LiveTurn {
        let decision = decide(caller, request, assessment, context, httpRequest)
        let prompt = compose(request, context, decision)
        let turn = generate(prompt, decision)
        finish(turn, httpRequest)
        return turn
    }
}

/// A turn as the edge received it.
struct TurnHTTPRequest: Sendable {
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
struct TurnSubscription: Sendable {
    var turn: LiveTurn
    /// nil when nothing was counted.
    var rate: RateLimit?
    /// The same request was made before.
    var isRepeated = false
}
