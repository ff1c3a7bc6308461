import BackgroundJobs
import ChatAPI
import CoachCore
import CoachStore
import Identity
import Logging
import PostgresClient
import ServiceLifecycle
import TokenRelay

/// A service that works beside the requests until a graceful shutdown cancels it, after the last chat turn is saved.
struct Background: Service {
    private let work: @Sendable () async throws -> Void

    init(_ work: @escaping @Sendable () async throws -> Void) { self.work = work }

    func run() async throws {
        try await cancelWhenGracefulShutdown {
            do { try await work() } catch is CancellationError {}
        }
    }
}

/// Runs the connections to the database. Stopped last.
struct DatabaseService: Service {
    let clients: [PostgresClient]

    func run() async throws {
        for client in clients { client.start() }
        try? await gracefulShutdown()
        await withDiscardingTaskGroup { group in
            for client in clients { group.addTask { await client.shutdown() } }
        }
    }
}

/// Returns slices of shared budgets to the database: idle ones every five seconds, and at the shutdown all, after the last turn is saved.
struct SharedBudgetService: Service {
    let budgets: SharedBudgets
    let logger: Logger

    func run() async throws {
        try await PeriodicJob("return of idle budgets", PeriodicSchedule(every: .seconds(5), jitter: 0.1), logger: logger) {
            try await budgets.returnIdle()
        }.run()
        do {
            try await budgets.returnAll()
        } catch {
            logger.warning("slices of shared budgets stay taken until the day ends", metadata: ["error": "\(error)"])
        }
    }
}

/// Registers this instance in the database, then renews its lease and saves checkpoints. Receipts that an earlier process left on disk are
/// delivered before the orphan collector looks for that process's turns. Throws `LeaseLost` when another process has registered as this instance.
struct InstanceLifecycle: Sendable {
    let instance: GatewayInstance
    let finalizer: TurnFinalizer
    let leases: LeaseRenewer
    let checkpointer: Checkpointer
    let orphanCollector: OrphanCollector
    let startFailures: StartFailures
    let logger: Logger

    func run() async throws {
        try await instance.registerWhenReachable { startFailures.report($0) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await leases.run() }
            group.addTask { try await checkpointer.run() }
            group.addTask {
                await finalizer.deliverLeftovers()
                try await orphanCollector.run()
            }
            // Whichever is first: neither ends by itself, so it has failed.
            defer { group.cancelAll() }
            do {
                try await group.next()
            } catch let leaseLost as LeaseLost {
                logger.critical("another process registered as this instance: this one ends")
                throw leaseLost
            }
        }
    }
}
