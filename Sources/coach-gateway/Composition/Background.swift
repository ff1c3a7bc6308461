import BackgroundJobs
import ChatAPI
import CoachCore
import CoachStore
import Identity
import Logging
import PostgresClient
import ServiceLifecycle
import TokenRelay

/// Work beside the requests that ends with the process: cancelled when its turn in the shutdown comes, which is after the last turn is
/// saved.
struct Background: Service {
    private let work: @Sendable () async throws -> Void

    init(_ work: @escaping @Sendable () async throws -> Void) { self.work = work }

    func run() async throws {
        try await cancelWhenGracefulShutdown {
            do { try await work() } catch is CancellationError {}
        }
    }
}

/// The database's pool for the life of the process; the last to go.
struct DatabaseService: Service {
    let client: PostgresClient

    func run() async throws {
        client.start()
        try? await gracefulShutdown()
        await client.shutdown()
    }
}

/// Returns slices of shared budgets: those that are idle, and in the end all. Stops after the last turn is saved.
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

/// The life of this instance in the database, from its registration on. What an earlier life left on disk is delivered before its turns
/// are looked for; the lease is renewed meanwhile.
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
                logger.critical("another process lives as this instance: this one ends")
                throw leaseLost
            }
        }
    }
}
