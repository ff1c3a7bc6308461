import CoachCore
import CoachStore
import GatewayServer
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

/// The life of this instance in the database, from its registration on. What an earlier life left on disk is delivered before its turns
/// are looked for; leases are renewed meanwhile.
struct InstanceLife: Sendable {
    let instance: GatewayInstance
    let settlement: TurnSettlement
    let checkpointer: Checkpointer
    let reaper: Reaper
    let logger: Logger

    func run() async throws {
        var isReported = false
        try await instance.registerWhenReachable { error in
            if !isReported { logger.error("the database cannot be reached yet", metadata: ["error": "\(error)"]) }
            isReported = true
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await checkpointer.run() }
            group.addTask {
                await settlement.deliverLeftovers()
                try await reaper.run()
            }
            // Whichever is first: neither ends by itself, so it has failed.
            defer { group.cancelAll() }
            try await group.next()
        }
    }
}
