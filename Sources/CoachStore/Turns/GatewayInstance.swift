import CoachCore
import Foundation
import PostgresClient
import Synchronization

/// The gateway process that runs a turn: its instance and epoch.
public struct TurnOwner: Sendable, Equatable {
    /// The id of the instance, which stays the same after a restart.
    public var instance: UUID
    /// The number of the process, higher than that of every earlier process of the instance.
    public var epoch: Int64

    public init(instance: UUID, epoch: Int64) {
        self.instance = instance
        self.epoch = epoch
    }
}

/// The identity of this process among the gateways that share a database. It must register before turns can begin here.
public final class GatewayInstance: Sendable {
    /// The instance's id, from its `InstanceSlot`.
    public let id: UUID
    private let client: PostgresClient
    /// The epoch is chosen here and not by the database, so that a registration that is executed twice, or after its process ended, has no
    /// effect.
    private let firstEpoch: Int64
    private let registration = Mutex<TurnOwner?>(nil)

    /// An instance that is not registered yet.
    /// - Parameter began: the start of the process; its time in microseconds is the first choice of the epoch.
    public init(id: UUID, client: PostgresClient, began: Date = Date()) {
        self.id = id
        self.client = client
        firstEpoch = Int64(began.timeIntervalSince1970 * 1_000_000)
    }

    /// The owner of turns that begin here. Throws `StoreFault.unavailable` before the registration.
    public func owner() throws -> TurnOwner {
        guard let owner = registration.withLock({ $0 }) else {
            throw StoreFault.unavailable(retryAfter: 1, reason: "this instance is not registered yet")
        }
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
            // A higher epoch is registered: the clock was set back since the last start.
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
            // A database that is away sends no signal when it is back.
            try await Task.sleep(for: pause)
        }
    }
}
