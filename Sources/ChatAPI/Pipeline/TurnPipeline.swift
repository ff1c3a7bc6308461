import CoachCore
import HTTPEdge
import Hummingbird
import TokenRelay

/// The steps of a turn. Each step is a function in the file of its name beside this one.
struct TurnPipeline: Sendable {
    var coaching: Coaching
    let repository: TurnRepository
    let recovery: TurnRecovery
    let counter: RequestCounter
    let tiers: LiveValue<TierBook>
    let models: TierModels
    /// nil: messages in the grey zone are not looked at again.
    let judge: SafetyJudge?
    let budgets: SharedBudgets
    let finalizer: TurnFinalizer
    let registry: TurnRegistry
    let remoteTurns: RemoteTurnTailer
    let admission: Admission
    let streamLoop: StreamLoop
    let errors: ErrorReporter

    /// From an authenticated request to the response that streams its turn: a new one, or the existing one of a repeated request. A turn that was
    /// begun is finished without regard to its subscribers.
    func run(_ http: TurnHTTPRequest) async throws -> Response {
        let parsed = try parse(http)
        let assessment = await http.trace.step("assess") { assess(parsed.request) }
        try await checkDomain(parsed, assessment, http)
        switch try await http.trace.step("begin", { try await begin(parsed.request, assessment, http) }) {
        case .begun(let context, let rate):
            let reservation = try await reserve(parsed.request, assessment, context, rate, http)
            let (assessment, judgeCall) = await lookAgain(parsed.request, assessment, context)
            let turn = answer(parsed.request, assessment, context, reservation, judgeCall, http)
            return try relay(TurnSubscription(turn: turn, rate: rate), from: .start, http)
        case .known(let known, let rate):
            http.trace.end()
            return try relay(TurnSubscription(turn: await attach(known), rate: rate, isRepeated: true), from: .start, http)
        case .refused(let rejection, let rate):
            throw rejected(rejection, rate, parsed.request, assessment, http)
        }
    }

    /// From a turn that was begun to one that is running and will be saved.
    func answer(
        _ request: TurnRequest, _ assessment: MessageAssessment, _ context: TurnContext, _ reservation: BudgetReservation?,
        _ judgeCall: JudgeCall.Result?, _ http: TurnHTTPRequest
    ) -> LiveTurn {
        let decision = decide(request, assessment, context, http)
        var prompt = compose(request, context, decision)
        prompt.trace = http.trace.startCall(decision.model.firstChoice)
        let turn = generate(prompt, decision)
        finish(turn, reservation, judgeCall, http)
        return turn
    }
}
