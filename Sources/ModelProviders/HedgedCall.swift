import CoachCore
import TokenRelay

/// A model call with a second one that begins when the first has no text after the time within which its model usually begins. The first text
/// decides; the slower call is cancelled, and its requests are told as other calls. Belongs to the transfers' thread after `begin`.
final class HedgedCall {
    private let router: ModelRouter
    private let receive: LanguageModel.Receiver
    private var machine = HedgeMachine()
    /// nil once they are of no use: they refer to this object as long as they run.
    private var first: ModelCall?
    private var second: ModelCall?
    /// What the calls have told while nothing was decided.
    private var pending = (first: CallTally(), second: CallTally())
    private var start = Moment.now
    private var alarm: TransferAlarm?
    /// The other call's requests were told.
    private var hasOtherCalls = false

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
        let patience = order.count > 1 ? order.first.flatMap { router.health.usualTime(of: $0.name) } : nil
        machine.begin(at: start, patience: patience)
        if let patience {
            alarm = router.transfers.schedule(after: patience) { [self] in
                alarm = nil
                clock(order)
            }
        }
        first?.begin(trying: order)
    }

    func cancel() {
        if case .use = machine.cancelled() { _ = decide(.first, nil) }
        call(machine.used ?? .first)?.cancel()
    }

    private func clock(_ order: [ModelChoice]) {
        let others = order.filter { $0 != first?.current }
        // Bounded like repetitions: providers that are slow because they are overloaded do not get twice the requests.
        guard machine.used == nil, !others.isEmpty, router.health.mayRetry(), machine.clock(at: .now) == .beginSecond else { return }
        if let late = first?.current { router.health.noteHedge(.hedgeStarted(late.name)) }
        second?.begin(trying: others, since: start, isSecond: true)
    }

    private func received(_ update: ModelUpdate, from lane: HedgeMachine.Lane) -> ReleaseState {
        if machine.used == lane {
            guard update.end != nil else { return receive(update) }
            var update = update
            // This call alone does not know of the other one's requests.
            if hasOtherCalls, let last = call(lane)?.openRequest, !last.isAccepted {
                update.otherCalls = (update.otherCalls ?? []) + [last]
            }
            let state = receive(update)
            (first, second) = (nil, nil)
            return state
        }
        guard machine.used == nil else { return ReleaseState(isReleased: false) }
        note(update, lane)
        let action: HedgeMachine.Action =
            if !update.text.isEmpty {
                machine.receivedText(lane)
            } else if let end = update.end {
                machine.ended(lane, isFault: end.isFault)
            } else {
                .none
            }
        guard case .use(let used) = action else { return ReleaseState(isReleased: false) }
        return decide(used, used == lane ? update : nil)
    }

    private func note(_ update: ModelUpdate, _ lane: HedgeMachine.Lane) {
        func note(_ calls: inout CallTally) {
            if let others = update.otherCalls { calls.called(others) }
            if let name = update.acceptedBy { calls.accepted(by: name) }
            if let usage = update.usage { calls.reported(usage) }
        }
        if lane == .first { note(&pending.first) } else { note(&pending.second) }
    }

    /// Delivers what this call has told, `update` the last of it, with the other call's requests, and cancels the other one.
    private func decide(_ lane: HedgeMachine.Lane, _ update: ModelUpdate?) -> ReleaseState {
        alarm?.cancel()
        if lane == .second, let answering = second?.current { router.health.noteHedge(.hedgeWon(answering.name)) }
        let loser = call(lane.other)
        let (told, lost) = lane == .first ? (pending.first, pending.second) : (pending.second, pending.first)
        let otherCalls = told.otherCalls + lost.otherCalls + [loser?.openRequest].compactMap(\.self)
        hasOtherCalls = !otherCalls.isEmpty
        if lane == .first { second = nil } else { first = nil }
        var state = ReleaseState(isReleased: false)
        if update != nil || !otherCalls.isEmpty || told.answeredBy != nil {
            state = receive(
                ModelUpdate(
                    otherCalls: otherCalls.isEmpty ? nil : otherCalls, acceptedBy: told.answeredBy,
                    text: update?.text ?? UnsafeBufferPointer(start: nil, count: 0), isSilent: update?.isSilent ?? false,
                    usage: told.answeredBy.map { _ in told.usage }, end: update?.end))
        }
        loser?.giveUpAsSlower()
        if update?.end != nil { (first, second) = (nil, nil) }
        return state
    }

    private func call(_ lane: HedgeMachine.Lane) -> ModelCall? { lane == .first ? first : second }
}
