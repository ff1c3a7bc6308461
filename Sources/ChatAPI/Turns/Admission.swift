import HTTPEdge
import Synchronization
import TokenRelay

/// Limits the number of turns that run at once in this process, and rejects new ones during a shutdown. A turn counts from before it begins until it is
/// saved, also when its clients have disconnected.
public final class Admission: Sendable {
    private let registry: TurnRegistry
    private let maximumTurns: Int
    private let draining = Atomic(false)
    /// The number of turns that may begin and may not be in the registry yet.
    private let beginning = Mutex(0)

    public init(registry: TurnRegistry, maximumTurns: Int) {
        self.registry = registry
        self.maximumTurns = maximumTurns
    }

    /// Rejects new turns from now on; readiness becomes false.
    public func close() { draining.store(true, ordering: .releasing) }

    /// Whether new turns are accepted.
    public var isOpen: Bool { !draining.load(ordering: .acquiring) }

    /// Runs `body`, which begins a turn and inserts it into the registry. The turn counts meanwhile, so that concurrent requests do not exceed the limit.
    /// `overload` is the error for a request that needs a new turn (`SYS_5001`); nil when one may begin.
    func admitting<Result>(_ body: (_ overload: GatewayError?) async throws -> Result) async throws -> Result {
        let overload = countBeginning()
        defer {
            if overload == nil { beginning.withLock { $0 -= 1 } }
        }
        return try await body(overload)
    }

    /// Counts a turn that begins. Returns an error when no new turn may begin.
    private func countBeginning() -> GatewayError? {
        guard isOpen else { return GatewayError(.overloaded, "this instance is draining", retryAfter: 1) }
        let isAdmitted = beginning.withLock { beginning in
            // The registry is read inside the lock, so that a turn that is being inserted counts once or twice, but never not at all.
            guard registry.count + beginning < maximumTurns else { return false }
            beginning += 1
            return true
        }
        return isAdmitted ? nil : GatewayError(.overloaded, "too many turns at once", retryAfter: 2, limit: .instanceTurns)
    }
}
