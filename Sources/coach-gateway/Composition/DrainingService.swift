import GatewayServer
import Logging
import ServiceLifecycle
import TokenRelay

/// The application, and what a shutdown means for it: no new turns, time for the running ones, then their clients are let go. Turns
/// are never cut: the process waits until the last is saved.
struct DrainingService: Service {
    private let application: GatewayApplication
    private let admission: Admission
    private let registry: TurnRegistry
    private let patience: Duration
    private let logger: Logger

    /// `patience`: how long clients may stay with their running turns.
    init(_ application: GatewayApplication, admission: Admission, registry: TurnRegistry, patience: Duration, logger: Logger) {
        self.application = application
        self.admission = admission
        self.registry = registry
        self.patience = patience
        self.logger = logger
    }

    func run() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await application.run() }
            group.addTask {
                try await gracefulShutdown()
                admission.close()
                logger.notice("draining", metadata: ["turns": "\(registry.count)"])
                try? await Task.sleep(for: patience)
                for turn in registry.running { turn.ringAll(.leave) }
            }
            // The application ends when the last client is gone.
            try await group.next()
            group.cancelAll()
        }
        await registry.drained()
        logger.notice("drained")
    }
}
