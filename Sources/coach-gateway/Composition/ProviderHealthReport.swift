import CoachCore
import CoreMetrics
import HTTPEdge
import Logging
import ModelProviders
import Synchronization
import TokenRelay

/// Reports changes in the health of providers as metrics and in the log. Never writes a key, only that one was refused.
final class ProviderHealthReport: Sendable {
    private let logger: Logger
    private let readings: Mutex<CircuitReadings>
    /// The models of turns.
    private let answering: Set<ModelName>

    /// Reads the circuits of all models that a route has, and notes in the metric those that count as closed by now.
    func readCircuits() -> [ModelName: CircuitState] {
        readings.withLock { readings in
            let states = readings.states(at: .now)
            for (name, state) in states { Self.record(state, of: name) }
            return states
        }
    }

    init(models: ModelConfiguration, logger: Logger) {
        self.logger = logger
        let names = Set(models.routes.values.flatMap(\.choices).map(\.name))
        answering = Set(models.routes.filter { $0.key != "judge" }.values.flatMap(\.choices).map(\.name))
        readings = Mutex(CircuitReadings(of: names))
        for name in names {
            Self.record(.closed, of: name)
            Self.probes(name).increment(by: 0)
            for outcome in ProviderEvent.RequestOutcome.allCases {
                Self.requests[RequestEnd(name: name, outcome: outcome)].increment(by: 0)
            }
        }
    }

    func take(_ event: ProviderEvent) {
        switch event {
        case .circuitOpened(let name, let needsOperator, let detail):
            note(event, of: name)
            warn(name, needsOperator, detail)
        case .circuitProbed(let name):
            note(event, of: name)
            Self.probes(name).increment()
        case .circuitReopened(let name): note(event, of: name)
        case .circuitClosed(let name):
            note(event, of: name)
            logger.notice("a provider answers again", metadata: ["provider": "\(name.provider)", "model": "\(name.model)"])
        case .hedgeStarted(let name): Self.counter("coach_hedges_started", name).increment()
        case .hedgeWon(let name): Self.counter("coach_hedges_won", name).increment()
        case .requestEnded(let name, let outcome):
            if outcome == .failed { note(event, of: name) }
            Self.requests[RequestEnd(name: name, outcome: outcome)].increment()
        case .keyRefused(let provider, let detail):
            Self.refused(provider).increment()
            logger.error("a key was refused, another one is used", metadata: ["provider": "\(provider)", "detail": "\(detail)"])
        }
    }

    /// Takes an event of the judge, which has circuits of its own. For a model that also answers turns, their circuit is shown and not the judge's.
    func takeFromJudge(_ event: ProviderEvent) {
        switch event {
        case .circuitOpened(let name, let needsOperator, let detail) where answering.contains(name): warn(name, needsOperator, detail)
        case .circuitProbed(let name) where answering.contains(name): break
        case .circuitReopened(let name) where answering.contains(name): break
        case .circuitClosed(let name) where answering.contains(name): break
        default: take(event)
        }
    }

    /// Logs the result of reading the files of keys again.
    func reloaded(_ result: (changed: [String], unreadable: [String])) {
        for provider in result.changed { logger.notice("keys were read again", metadata: ["provider": "\(provider)"]) }
        for provider in result.unreadable { logger.error("the file of keys is of no use", metadata: ["provider": "\(provider)"]) }
    }

    private func warn(_ name: ModelName, _ needsOperator: Bool, _ detail: String) {
        if needsOperator { Self.refused(name.provider).increment() }
        logger.log(
            level: needsOperator ? .error : .warning,
            needsOperator ? "a provider refuses its key, has no money left, or does not know the model" : "a provider is set aside",
            metadata: ["provider": "\(name.provider)", "model": "\(name.model)", "detail": "\(detail)"])
    }

    private func note(_ event: ProviderEvent, of name: ModelName) {
        readings.withLock { readings in
            readings.take(event, at: .now)
            if let state = readings.states(at: .now)[name] { Self.record(state, of: name) }
        }
    }

    private static func record(_ state: CircuitState, of name: ModelName) {
        Gauge(label: "coach_provider_circuit_open", dimensions: [("provider", name.provider), ("model", name.model)])
            .record(state == .closed ? 0 : 1)
    }

    private static func probes(_ name: ModelName) -> Counter { counter("coach_provider_probes", name) }

    private struct RequestEnd: Hashable {
        var name: ModelName
        var outcome: ProviderEvent.RequestOutcome
    }

    /// One each for the models of the configuration and the outcomes.
    private static let requests = MetricHandles { (end: RequestEnd) in
        Counter(
            label: "coach_provider_requests",
            dimensions: [("provider", end.name.provider), ("model", end.name.model), ("outcome", end.outcome.rawValue)])
    }

    private static func counter(_ label: String, _ name: ModelName) -> Counter {
        Counter(label: label, dimensions: [("provider", name.provider), ("model", name.model)])
    }

    private static func refused(_ provider: String) -> Counter {
        Counter(label: "coach_provider_keys_refused", dimensions: [("provider", provider)])
    }
}
