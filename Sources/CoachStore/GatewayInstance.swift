import CoachCore
import Foundation
import PostgresClient
import Synchronization

/// Which life of which gateway runs a turn.
public struct TurnOwner: Sendable, Equatable {
    /// The instance, through all its lives.
    public var instance: UUID
    /// Its life: higher than those of all lives before.
    public var epoch: Int64

    public init(instance: UUID, epoch: Int64) {
        self.instance = instance
        self.epoch = epoch
    }
}

/// This process among the gateways that share the database. It has no owner to offer before it is registered.
public final class GatewayInstance: Sendable {
    /// Chosen by its `InstanceSlot`.
    public let id: UUID
    private let client: PostgresClient
    /// Named here and not by the database: a registration may be sent twice, and executed after its process is dead.
    private let firstEpoch: Int64
    private let registration = Mutex<TurnOwner?>(nil)

    /// Not registered yet. `began`: later than that of every life before, as far as the machine's clock can say.
    public init(id: UUID, client: PostgresClient, began: Date = Date()) {
        self.id = id
        self.client = client
        firstEpoch = Int64(began.timeIntervalSince1970 * 1_000_000)
    }

    /// Whose turns are begun here. Throws `StoreFault.unavailable` until the database was reached for the first time.
    public func owner() throws -> TurnOwner {
        guard let owner = registration.withLock({ $0 }) else { throw StoreFault.unavailable(retryAfter: 1) }
        return owner
    }

    /// Whether turns can be begun here.
    public var isRegistered: Bool { registration.withLock { $0 != nil } }

    /// Begins this process's life: turns of earlier ones are orphans from now on. Once more begins no other. Throws `StoreFault`.
    public func register() async throws {
        var epoch = firstEpoch
        while true {
            let holds: Int64 = try await StoreFault.translating {
                try await client.query("select gateway.register_instance(\(id), \(epoch))") { rows in
                    try rows.only { row in try row.value(0) }
                }
            }
            if holds == epoch { break }
            // The clock was set back since the life before.
            epoch = holds + 1
        }
        registration.withLock { $0 = TurnOwner(instance: id, epoch: epoch) }
    }

    /// Registers as soon as the database is there; `onFailure` hears of each attempt that failed. Throws `CancellationError` only.
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
