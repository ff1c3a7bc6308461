import CoachCore
import Foundation
import PostgresClient
import Synchronization

/// The instance and epoch that run a turn.
public struct TurnOwner: Sendable, Equatable {
    /// The instance, the same after a restart.
    public var instance: UUID
    /// Higher than that of every earlier process of the instance.
    public var epoch: Int64

    public init(instance: UUID, epoch: Int64) {
        self.instance = instance
        self.epoch = epoch
    }
}

/// This process among the gateways that share the database.
public final class GatewayInstance: Sendable {
    /// From its `InstanceSlot`.
    public let id: UUID
    private let client: PostgresClient
    /// Chosen here and not by the database, because a registration may be sent twice, or executed after its process died.
    private let firstEpoch: Int64
    private let registration = Mutex<TurnOwner?>(nil)

    /// Not registered yet. `began`: start of the process, in microseconds its first choice of an epoch.
    public init(id: UUID, client: PostgresClient, began: Date = Date()) {
        self.id = id
        self.client = client
        firstEpoch = Int64(began.timeIntervalSince1970 * 1_000_000)
    }

    /// The owner of turns that begin here. Throws `StoreFault.unavailable` before the registration.
    public func owner() throws -> TurnOwner {
        guard let owner = registration.withLock({ $0 }) else { throw StoreFault.unavailable(retryAfter: 1) }
        return owner
    }

    /// Whether turns can begin here.
    public var isRegistered: Bool { registration.withLock { $0 != nil } }

    /// Registers a new epoch, which makes turns of earlier epochs orphans. Idempotent. Throws `StoreFault`.
    public func register() async throws {
        var epoch = firstEpoch
        while true {
            let current: Int64 = try await StoreFault.translating {
                try await client.query("select gateway.register_instance(\(id), \(epoch))") { rows in
                    try rows.only { row in try row.value(0) }
                }
            }
            if current == epoch { break }
            // The clock was set back since the last start.
            epoch = current + 1
        }
        registration.withLock { $0 = TurnOwner(instance: id, epoch: epoch) }
    }

    /// Registers as soon as the database is available; `onFailure` is called for each failed attempt. Throws `CancellationError` only.
    public func registerWhenReachable(pause: Duration = .milliseconds(250), onFailure: (any Error) -> Void = { _ in }) async throws {
        while true {
            do {
                return try await register()
            } catch is CancellationError {
                throw CancellationError()
            } catch {
                onFailure(error)
            }
            try await Task.sleep(for: pause)
        }
    }
}
