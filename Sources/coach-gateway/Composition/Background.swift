import BackgroundJobs
import ChatAPI
import CoachCore
import CoachStore
import Identity
import Logging
import PostgresClient
import ServiceLifecycle
import Telemetry
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

/// Sends the spans of turns each second, and at the shutdown the last ones. Nil: nothing is traced.
struct SpanService: Service {
    let exporter: SpanExporter?
    let logger: Logger

    func run() async throws {
        guard let exporter else { return try await gracefulShutdown() }
        try await PeriodicJob("spans", PeriodicSchedule(every: .seconds(1)), logger: logger) { await exporter.flush() }.run()
        await exporter.flush()
    }
}

/// Registers this instance in the database, then renews its lease, saves checkpoints and delivers receipts and records of model calls from disk. Throws
/// `LeaseLost` when another process has registered as this instance.
///
/// Receipts that an earlier process left on disk are delivered before, as far as the timeout allows. The new epoch proves to all instances that the
/// earlier process has ended. Without their receipts, any instance would then finalize its turns and tell their readers that the rest is lost.
struct InstanceLifecycle: Sendable {
    let instance: GatewayInstance
    let receipts: ReceiptDelivery
    let calls: CallDelivery
    let leases: LeaseRenewer
    let checkpointer: Checkpointer
    let orphanCollector: OrphanCollector
    let startFailures: StartFailures
    let logger: Logger

    func run() async throws {
        try await receipts.run { try await serve() }
    }

    private func serve() async throws {
        try await instance.registerWhenReachable { startFailures.report($0) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await leases.run() }
            group.addTask { try await checkpointer.run() }
            group.addTask { try await calls.run() }
            group.addTask { try await orphanCollector.run() }
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
