import CoachCore
import TokenRelay

/// A change in the health of a provider's model, for metrics and alarms.
public enum ProviderEvent: Sendable, Equatable {
    /// The model is tried after the others from now on. `needsOperator`: the account has no money, the key is of no use, or the provider does not know the
    /// model.
    case circuitOpened(ModelName, needsOperator: Bool, detail: String)
    case circuitClosed(ModelName)
    /// One call goes to the model to find out whether it answers again.
    case circuitProbed(ModelName)
    /// That call failed.
    case circuitReopened(ModelName)
    /// A second model is asked because this one is late.
    case hedgeStarted(ModelName)
    /// The text of this model, which was asked second, came first.
    case hedgeWon(ModelName)
    /// A key was refused and has a cooldown; another one is used.
    case keyRefused(provider: String, detail: String)
    /// A request to the model is over, also when another model answers the call. One that broke after its first text is reported as answered and as failed.
    case requestEnded(ModelName, RequestOutcome)

    public enum RequestOutcome: String, Sendable, CaseIterable {
        /// Its first text came.
        case answered
        /// No answer came in time, the answer broke, or the provider refused the key, the rate or the model.
        case failed
        /// The provider, or its moderation, refused the request itself.
        case rejected
    }
}

/// The state that the calls of all routes share. Belongs to the transfers' thread.
final class ProviderHealth {
    /// The content of the bytes that a call reads now. It is emptied before each reading and delivered after it, so all calls can share its buffer, which
    /// stays in the processor's cache.
    var update = ParsedUpdate()
    private var breakers: [ModelName: CircuitBreaker] = [:]
    private var latencies: [ModelName: LatencyHistory] = [:]
    /// Until when a model is tried after the others, because its provider has asked for a pause.
    private var pauses: [ModelName: MonotonicInstant] = [:]
    /// Until when a model gets no request, because its provider has named the time.
    private var cooldowns: [ModelName: MonotonicInstant] = [:]
    /// Models whose failure that needs an operator was reported since their last answer.
    private var alarmed: Set<ModelName> = []
    private var retries = RetryBudget()
    let report: @Sendable (ProviderEvent) -> Void

    init(report: @escaping @Sendable (ProviderEvent) -> Void = { _ in }) { self.report = report }

    func began() { retries.called() }

    func mayRetry() -> Bool { retries.takes() }

    /// The choices in the order in which a call beginning now tries them: healthy ones first, then those with an open circuit and those that have asked
    /// for a pause. A choice that cannot be called uses up no probe, because the call passes it over.
    func order(_ choices: [ModelChoice], at now: MonotonicInstant, canCall: (ModelChoice) -> Bool = { _ in true }) -> [ModelChoice] {
        var admitted: [ModelChoice] = []
        var last: [ModelChoice] = []
        for choice in choices {
            // Only the first choice uses up a probe: no other is sure to be called.
            let isPaused = isCoolingDown(choice.name, at: now) || pauses[choice.name].map { $0 > now } ?? false
            let isAdmitted =
                !isPaused && canCall(choice) && (admitted.isEmpty ? admits(choice.name, at: now) : breakers[choice.name]?.isClosed ?? true)
            if isAdmitted { admitted.append(choice) } else { last.append(choice) }
        }
        return admitted + last
    }

    /// Whether the provider's own `retry-after` forbids a request to this model. The choice is then passed over, even when no other one is left.
    func isCoolingDown(_ model: ModelName, at now: MonotonicInstant) -> Bool { remainingCooldown(of: model, at: now) != nil }

    /// How long the provider's `retry-after` still forbids a request to this model; nil when it does not.
    func remainingCooldown(of model: ModelName, at now: MonotonicInstant) -> Duration? {
        cooldowns[model].flatMap { $0 > now ? now.duration(to: $0) : nil }
    }

    /// Whether the model has failed lately. `RetryBudget` then bounds the further requests of calls to it.
    func isOpen(_ model: ModelName) -> Bool { breakers[model]?.isClosed == false }

    private func admits(_ model: ModelName, at now: MonotonicInstant) -> Bool {
        let isAdmitted = breakers[model, default: .init()].admits(at: now)
        if isAdmitted, breakers[model]?.isClosed == false { report(.circuitProbed(model)) }
        return isAdmitted
    }

    /// The first text of a model's answer came after this time. It ends no cooldown, because its request left before the provider asked for one.
    func noteSuccess(of model: ModelName, after time: Duration) {
        note(time, of: model)
        report(.requestEnded(model, .answered))
        pauses[model] = nil
        alarmed.remove(model)
        guard let breaker = breakers[model] else { return }
        breakers[model]?.succeeded()
        if !breaker.isClosed { report(.circuitClosed(model)) }
    }

    /// Notes how long a model took to its first text, or at least took when the call did not wait for it.
    func note(_ time: Duration, of model: ModelName) { latencies[model, default: .init()].add(time) }

    /// The time within which 95 of 100 answers of a model begin; nil when it is not known yet.
    func usualTime(of model: ModelName) -> Duration? { latencies[model]?.p95 }

    func meanTime(of model: ModelName) -> Duration? { latencies[model]?.mean }

    func noteFailure(of model: ModelName, _ failure: AttemptFailure, at now: MonotonicInstant) {
        report(.requestEnded(model, failure.blamesRequest ? .rejected : .failed))
        if failure.hasAnotherKey {
            if failure.needsOperator { report(.keyRefused(provider: model.provider, detail: failure.fault.detail)) }
            return
        }
        guard failure.blamesProvider else { return }
        if let pause = failure.pause { pauses[model] = now + pause }
        // Responses to concurrent requests come in any order, so the longest cooldown counts.
        if let cooldown = failure.cooldown { cooldowns[model] = max(now + cooldown, cooldowns[model] ?? now) }
        let before = breakers[model]?.circuit ?? .closed
        if failure.needsOperator {
            breakers[model, default: .init()].failedForOperator(at: now)
        } else {
            breakers[model, default: .init()].failed(at: now)
        }
        guard breakers[model]?.circuit == .open else { return }
        // Reported even if other failures have opened the circuit before.
        if failure.needsOperator, alarmed.insert(model).inserted {
            return report(.circuitOpened(model, needsOperator: true, detail: failure.fault.detail))
        }
        switch before {
        case .closed: report(.circuitOpened(model, needsOperator: false, detail: failure.fault.detail))
        case .halfOpen: report(.circuitReopened(model))
        case .open: break
        }
    }
}
