/// The state of a circuit breaker. Raw values are those of `gateway.circuit_state`.
public enum CircuitState: String, Sendable, CaseIterable {
    case closed
    /// One call tries whether the provider answers again.
    case halfOpen = "half_open"
    /// The provider is tried after the others.
    case open
}
