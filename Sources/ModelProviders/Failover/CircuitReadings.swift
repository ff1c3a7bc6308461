import CoachCore
import TokenRelay

/// The circuits of models as operators see them. Pure.
///
/// A circuit closes with the model's next answer, which never comes while another model answers every call. So a circuit counts as closed when the model
/// has not failed for a while: nobody knows then whether it would. The order in which models are tried does not depend on this.
public struct CircuitReadings: Sendable, Equatable {
    /// How long a circuit counts as open after the last failure; longer than any cooldown of a model.
    public static let memory = Duration.seconds(600)

    private struct Reading: Equatable {
        var state = CircuitState.closed
        /// The last failure or probe; nil when there was none.
        var lastEvent: MonotonicInstant?
    }

    private var readings: [ModelName: Reading]

    /// - Parameter models: all that a route has.
    public init(of models: some Sequence<ModelName>) {
        readings = Dictionary(models.map { ($0, Reading()) }) { first, _ in first }
    }

    public mutating func take(_ event: ProviderEvent, at now: MonotonicInstant) {
        switch event {
        case .circuitOpened(let model, _, _), .circuitReopened(let model): readings[model] = Reading(state: .open, lastEvent: now)
        case .circuitProbed(let model): readings[model] = Reading(state: .halfOpen, lastEvent: now)
        case .circuitClosed(let model): readings[model] = Reading()
        // While a circuit is open, failures do not open it again.
        case .requestEnded(let model, .failed): readings[model]?.lastEvent = now
        case .requestEnded, .hedgeStarted, .hedgeWon, .keyRefused: break
        }
    }

    public func states(at now: MonotonicInstant) -> [ModelName: CircuitState] {
        readings.mapValues { reading in
            guard let last = reading.lastEvent, last.duration(to: now) < Self.memory else { return .closed }
            return reading.state
        }
    }
}
