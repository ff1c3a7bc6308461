import CoachCore
import TokenRelay

/// Two model calls for one prompt. The second begins when the first has no text after the time within which its model usually begins to answer.
///
/// The call whose text comes first is used. The other one is cancelled, and its requests are reported as unused. Until then the receiver is told what the
/// first one reports, because a turn that ends meanwhile is billed by it. After `make`, this object belongs to the transfers' thread.
final class HedgedCall {
    private let router: ModelRouter
    private let receive: LanguageModel.Receiver
    private var machine = HedgeMachine()
    /// Set to nil when it is not needed any more, because its receiver refers back to this object.
    private var first: ModelCall?
    private var second: ModelCall?
    /// What the calls have reported before one of them was chosen.
    private var pending = (first: CallTally(), second: CallTally())
    /// How many of the first call's unused requests the receiver was told before the choice.
    private var toldUnusedCalls = 0
    private var start = MonotonicInstant.now
    private var timer: TransferTimer?
    /// Whether requests were reported as unused.
    private var hasUnusedCalls = false

    private init(router: ModelRouter, receive: @escaping LanguageModel.Receiver) {
        self.router = router
        self.receive = receive
    }

    /// Encodes the prompt for both calls on the caller's thread.
    static func make(
        prompt: Prompt, router: ModelRouter, beforeRequest: LanguageModel.BeforeRequest?, receive: @escaping LanguageModel.Receiver
    ) -> TransferBound<HedgedCall> {
        let call = HedgedCall(router: router, receive: receive)
        let bound = router.transfers.bind(call)
        call.first = ModelCall(prompt: prompt, router: router, beforeRequest: beforeRequest) { bound.current.received($0, from: .first) }
        call.second = ModelCall(prompt: prompt, router: router, beforeRequest: beforeRequest) { bound.current.received($0, from: .second) }
        return bound
    }

    func begin() {
        start = .now
        let order = router.order(at: start)
        let hedgingDelay = order.count > 1 ? order.first.flatMap { router.health.usualTime(of: $0.name) } : nil
        machine.begin(at: start, hedgingDelay: hedgingDelay)
        if let hedgingDelay {
            timer = router.transfers.schedule(after: hedgingDelay) { [self] in
                timer = nil
                beginSecond(order)
            }
        }
        first?.begin(trying: order)
    }

    func cancel() {
        if case .use = machine.cancelled() { _ = decide(.first, nil) }
        modelCall(machine.used ?? .first)?.cancel()
    }

    /// Begins the second call if the first still has no text, a choice is left, and the retry budget allows it.
    private func beginSecond(_ order: [ModelChoice]) {
        guard let late = first?.current, order.last != late else { return }
        // The budget of repetitions bounds second calls: providers that are slow because they are overloaded must not get twice the requests.
        guard machine.used == nil, router.health.mayRetry(), machine.timePassed(at: .now) == .beginSecond else { return }
        router.health.report(.hedgeStarted(late.name))
        // The second call tries what the first has not tried, so each choice is asked once.
        second?.begin(trying: first?.giveUpUntried(), since: start, isSecond: true)
    }

    private func received(_ update: ModelUpdate, from call: HedgeMachine.Call) -> ReleaseState {
        if machine.used == call {
            guard update.end != nil else { return receive(update) }
            var update = update
            // The call does not know that requests of the other call were unused, so it does not report its own last one.
            if hasUnusedCalls, let last = modelCall(call)?.openRequest, !last.isAccepted {
                update.unusedCalls = (update.unusedCalls ?? []) + [last]
            }
            let state = receive(update)
            (first, second) = (nil, nil)
            return state
        }
        guard machine.used == nil else { return ReleaseState(isReleased: false) }
        note(update, call)
        let action: HedgeMachine.Action =
            if !update.text.isEmpty {
                machine.receivedText(call)
            } else if update.end != nil {
                machine.ended(call)
            } else {
                .none
            }
        if case .use(let used) = action { return decide(used, used == call ? update : nil) }
        guard call == .first else { return ReleaseState(isReleased: false) }
        toldUnusedCalls = pending.first.unusedCalls.count
        return receive(update)
    }

    private func note(_ update: ModelUpdate, _ call: HedgeMachine.Call) {
        if call == .first { pending.first.take(update) } else { pending.second.take(update) }
    }

    /// Chooses a call: delivers what it has reported, with the other call's requests as unused, and cancels the other call. The acceptance of the first call
    /// is delivered again, because it comes after those requests.
    /// - Parameter update: the last report of the chosen call; nil when the other call has caused the choice.
    private func decide(_ call: HedgeMachine.Call, _ update: ModelUpdate?) -> ReleaseState {
        timer?.cancel()
        if call == .second, let answering = second?.current { router.health.report(.hedgeWon(answering.name)) }
        let loser = modelCall(call.other)
        let reported = call == .first ? pending.first : pending.second
        var unusedCalls = pending.first.unusedCalls + pending.second.unusedCalls + [loser?.openRequest].compactMap(\.self)
        hasUnusedCalls = !unusedCalls.isEmpty
        unusedCalls.removeFirst(toldUnusedCalls)
        if call == .first { second = nil } else { first = nil }
        var state = ReleaseState(isReleased: false)
        if update != nil || !unusedCalls.isEmpty || reported.answeredBy != nil {
            state = receive(
                ModelUpdate(
                    unusedCalls: unusedCalls.isEmpty ? nil : unusedCalls, acceptedBy: reported.answeredBy,
                    text: update?.text ?? UnsafeBufferPointer(start: nil, count: 0), isSilent: update?.isSilent ?? false,
                    usage: reported.answeredBy.map { _ in reported.usage },
                    reasoningBytes: reported.answeredBy.map { _ in reported.reasoningBytes }, end: update?.end))
        }
        loser?.giveUpAsSlower()
        if update?.end != nil { (first, second) = (nil, nil) }
        return state
    }

    private func modelCall(_ call: HedgeMachine.Call) -> ModelCall? { call == .first ? first : second }
}
