import CoachCore
import TokenRelay

/// A change in the health of a provider's model, for metrics and alarms.
public enum ProviderEvent: Sendable, Equatable {
    /// It is tried after the others from now on. `needsOperator`: it has no money, or its key is of no use.
    case circuitOpened(ModelName, needsOperator: Bool, detail: String)
    case circuitClosed(ModelName)
    /// One call tries whether it answers again.
    case circuitProbed(ModelName)
    /// That call failed.
    case circuitReopened(ModelName)
    /// A second provider is asked because this one is late.
    case hedgeStarted(ModelName)
    /// The second one answers.
    case hedgeWon(ModelName)
    /// A key was refused and has a cooldown; another one is used.
    case keyRefused(provider: String, detail: String)
    /// For counters, whoever answers the call at last. One that broke after its first text has both ends.
    case requestEnded(ModelName, RequestOutcome)

    public enum RequestOutcome: String, Sendable, CaseIterable {
        /// Its first text came.
        case answered
        /// No answer came in time, or it broke, or the provider refused the key, the rate or the model.
        case failed
        /// The provider found fault with the request itself, or its moderation did.
        case rejected
    }
}

/// What the calls of all routes change together. Belongs to the transfers' thread.
final class ProviderHealth {
    /// What a call reads at present: emptied before each reading and handed over after it, so all calls share one buffer that stays in the cache.
    var update = ParsedUpdate()
    private var breakers: [ModelName: CircuitBreaker] = [:]
    private var latencies: [ModelName: LatencyHistory] = [:]
    /// Until when a model is tried after the others, because its provider has asked for a pause.
    private var pauses: [ModelName: MonotonicInstant] = [:]
    /// Until when a model gets no request, because its provider has named the time.
    private var cooldowns: [ModelName: MonotonicInstant] = [:]
    /// Models of whose money or key an operator was told since their last answer.
    private var alarmed: Set<ModelName> = []
    private var retries = RetryBudget()
    private let report: @Sendable (ProviderEvent) -> Void

    init(report: @escaping @Sendable (ProviderEvent) -> Void = { _ in }) { self.report = report }

    func began() { retries.called() }

    func noteHedge(_ event: ProviderEvent) { report(event) }

    func mayRetry() -> Bool { retries.takes() }

    /// The choices in the order in which a call beginning now tries them: healthy ones before those with an open circuit, and
    /// before those that have asked for a pause. One that cannot be called uses up no probe, because the call passes it over.
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

    /// Whether the provider's own `retry-after` forbids a request for this model. Such a choice is passed over, also when no other is left.
    func isCoolingDown(_ model: ModelName, at now: MonotonicInstant) -> Bool { remainingCooldown(of: model, at: now) != nil }

    /// How long that lasts from now; nil: no such time is running.
    func remainingCooldown(of model: ModelName, at now: MonotonicInstant) -> Duration? {
        cooldowns[model].flatMap { $0 > now ? now.duration(to: $0) : nil }
    }

    /// Whether the model has failed lately, so that a further request of a call to it is bounded like a repetition.
    func isOpen(_ model: ModelName) -> Bool { breakers[model]?.isClosed == false }

    private func admits(_ model: ModelName, at now: MonotonicInstant) -> Bool {
        let isAdmitted = breakers[model, default: .init()].admits(at: now)
        if isAdmitted, breakers[model]?.isClosed == false { report(.circuitProbed(model)) }
        return isAdmitted
    }

    /// A model's answer began to come after this time. It ends no cooldown: its request left before the provider asked for one.
    func noteSuccess(of model: ModelName, after time: Duration) {
        note(time, of: model)
        report(.requestEnded(model, .answered))
        pauses[model] = nil
        alarmed.remove(model)
        guard let breaker = breakers[model] else { return }
        breakers[model]?.succeeded()
        if !breaker.isClosed { report(.circuitClosed(model)) }
    }

    /// A model took this time to its first text, or at least so long.
    func note(_ time: Duration, of model: ModelName) { latencies[model, default: .init()].add(time) }

    /// The time within which 95 of 100 answers of a model begin; nil: not known.
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
        // Responses to concurrent requests come in any order.
        if let cooldown = failure.cooldown { cooldowns[model] = max(now + cooldown, cooldowns[model] ?? now) }
        let before = breakers[model]?.circuit ?? .closed
        if failure.needsOperator {
            breakers[model, default: .init()].failedForOperator(at: now)
        } else {
            breakers[model, default: .init()].failed(at: now)
        }
        guard breakers[model]?.circuit == .open else { return }
        // Also of a circuit that other failures have opened.
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
