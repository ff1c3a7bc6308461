import HTTPEdge
import Synchronization
import TokenRelay

/// Limits the number of turns that run at once in this process, and rejects new ones during a shutdown. A turn counts until it is saved,
/// also when its clients have disconnected.
public final class Admission: Sendable {
    private let registry: TurnRegistry
    private let maximumTurns: Int
    private let draining = Atomic(false)

    public init(registry: TurnRegistry, maximumTurns: Int) {
        self.registry = registry
        self.maximumTurns = maximumTurns
    }

    /// Rejects new turns from now on; readiness becomes false.
    public func close() { draining.store(true, ordering: .releasing) }

    /// Whether new turns are accepted.
    public var isOpen: Bool { !draining.load(ordering: .acquiring) }

    /// Throws `SYS_5001` when no new turn may begin.
    func check() throws(GatewayError) {
        guard isOpen else { throw GatewayError(.overloaded, "this instance is draining", retryAfter: 1) }
        guard registry.count < maximumTurns else {
            throw GatewayError(.overloaded, "too many turns at once", retryAfter: 2, limit: .instanceTurns)
        }
    }
}
