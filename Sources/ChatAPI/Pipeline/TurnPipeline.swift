import CoachCore
import Foundation
import HTTPEdge
import Hummingbird
import TokenRelay

/// Handles a request for a turn in steps. Each step is a method in the file of its name in this folder; `run`, `start` and `answer` are their order.
struct TurnPipeline: Sendable {
    var coaching: CoachingConfiguration
    let repository: TurnRepository
    let records: CallRecordStore
    let recovery: TurnRecovery
    let counter: RequestCounter
    let tiers: LiveValue<TierBook>
    let models: TierModels
    let encoderQueue: EncoderQueue
    let recentDanger: RecentDanger
    /// nil when messages in the grey zone are not judged.
    let judge: SafetyJudge?
    let budgets: SharedBudgets
    let finalizer: TurnFinalizer
    let registry: TurnRegistry
    let remoteTurns: RemoteTurnTailer
    let admission: Admission
    let streamLoop: StreamLoop
    let errors: ErrorReporter
    /// The draft of a persona of the caller. Throws `Rejection` with `notFound`.
    let drafts: @Sendable (Caller, PersonaID) async throws -> PersonaRecord

    /// Handles an authenticated request: returns the response that streams its turn, a new one or, for a repeated request, the existing
    /// one. A turn that has begun runs to its end and is saved also when all its clients disconnect.
    func run(_ http: TurnHTTPRequest) async throws -> Response {
        let parsed = try parse(http)
        let assessment = await http.trace.step("assess") { await assess(parsed.request, http) }
        try await checkDomain(parsed, assessment, http)
        let request = try await checkDraft(parsed.request, assessment, http)
        return try relay(try await start(request, assessment, http), from: .start, http)
    }

    /// Begins the turn of a valid request, or finds the existing one of a repeated request.
    func start(_ request: TurnRequest, _ pending: PendingAssessment, _ http: TurnHTTPRequest) async throws -> TurnSubscription {
        let started: StartedTurn = try await admission.admitting { overload in
            let (result, savedRisk) = try await http.trace.step("begin") { try await begin(request, pending, unless: overload, http) }
            switch result {
            case .begun(let context, _, _):
                return .new(try await continueBegun(request, pending, savedRisk: savedRisk, context, http))
            case .known(let known, _):
                return .known(known)
            case .rejected(let rejection, _):
                throw rejected(rejection, request, await pending.final, http)
            }
        }
        return await subscription(to: started, http)
    }

    /// A turn that a request began, or the one that it repeats, which takes no place in `Admission` while it is looked for.
    enum StartedTurn {
        case new(TurnSubscription)
        case known(KnownTurn)
    }

    func subscription(to started: StartedTurn, _ http: TurnHTTPRequest) async -> TurnSubscription {
        switch started {
        case .new(let subscription): return subscription
        case .known(let known):
            http.trace.end()
            return TurnSubscription(turn: await attach(known), request: .repeats)
        }
    }

    /// Continues a new turn, or a retry, that has begun in the database.
    func continueBegun(
        _ request: TurnRequest, _ pending: PendingAssessment, savedRisk: RiskAssessment, _ context: TurnContext, _ http: TurnHTTPRequest
    ) async throws -> TurnSubscription {
        // From here on a stop reaches it without the database.
        registry.announce(context.identity.turnID, of: http.caller.userID)
        let assessment = await assessInContext(request, pending, savedTier: savedRisk.tier, context, http)
        let reservation = try await reserve(request, assessment, context, http)
        let turn = await answer(request, assessment, savedRisk: savedRisk, context, reservation, http)
        return TurnSubscription(turn: turn, request: .began)
    }

    /// Runs a turn that has begun and is announced to the registry. The returned turn is generating and will be saved. `savedRisk` is at most the
    /// risk with which the message was saved.
    func answer(
        _ request: TurnRequest, _ assessment: MessageAssessment, savedRisk: RiskAssessment, _ context: TurnContext,
        _ reservation: BudgetReservation?, _ http: TurnHTTPRequest
    ) async -> LiveTurn {
        let recorder = CallRecorder(records, http.caller.userID, context.identity, on: context.day, requestID: http.context.requestID)
        let (assessment, judgeCalls) = await askJudge(request, assessment, context, recorder, http.trace)
        let raising = assessment.risk.tier > savedRisk.tier ? raiseRisk(of: context.identity, assessment.risk, http) : nil
        let context = context.adding(request.supplied, within: tiers.current.tier(named: context.tier).history)
        var decision = await http.trace.step("decide") { decide(request, assessment, savedRisk: savedRisk, context, http, now: Date()) }
        decision.facts.earlierCalls = judgeCalls
        recentDanger.note(http.caller.userID, max(decision.safety.level, context.highestLevel), in: decision.facts.region)
        var prompt = await http.trace.step("compose") { compose(request, context, decision) }
        prompt.tracing = http.trace.startCall()
        let turn = generate(prompt, decision, recorder)
        finish(turn, reservation, recorder, after: raising, http)
        return turn
    }
}
