import HTTPEdge
import Synchronization
import TokenRelay

/// Limits the turns of this process. A turn counts until it is saved, not until its client is gone.
public final class Admission: Sendable {
    private let registry: TurnRegistry
    private let maximumTurns: Int
    private let draining = Atomic(false)

    /// `maximumTurns`: turns that may run at once in this process.
    public init(registry: TurnRegistry, maximumTurns: Int) {
        self.registry = registry
        self.maximumTurns = maximumTurns
    }

    /// Rejects new turns from now on; readiness becomes false.
    public func close() { draining.store(true, ordering: .releasing) }

    /// Whether the process accepts work.
    public var isOpen: Bool { !draining.load(ordering: .acquiring) }

    /// Throws `SYS_5001` when no further turn may begin.
    func check() throws(GatewayError) {
        guard isOpen else { throw GatewayError(.overloaded, "this instance is draining", retryAfter: 1) }
        guard registry.count < maximumTurns else { throw GatewayError(.overloaded, "too many turns at once", retryAfter: 2) }
    }
}
