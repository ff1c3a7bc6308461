import BackgroundJobs
import CoachCore
import Logging
import ServiceLifecycle
import TokenRelay

/// Saves the new text of running turns four times a second: checkpointed text cannot be lost. A checkpoint is a cursor like any other.
/// `LeaseRenewer` renews the lease separately.
public struct Checkpointer: Service {
    let recovery: TurnRecovery
    let registry: TurnRegistry
    let logger: Logger
    let interval: Duration
    let bytesPerStatement: Int

    /// `interval`: how much text a crash may lose. `bytesPerStatement`: after an outage there may be 64 KiB for each of 2,000 turns, and other
    /// statements on the same connection wait; a statement exceeds this by one turn's text at most.
    public init(
        recovery: TurnRecovery, registry: TurnRegistry, logger: Logger, interval: Duration = .milliseconds(250),
        bytesPerStatement: Int = 1 << 20
    ) {
        self.recovery = recovery
        self.registry = registry
        self.logger = logger
        self.interval = interval
        self.bytesPerStatement = bytesPerStatement
    }

    /// Until cancelled, also while turns end in a graceful shutdown. Throws `LeaseLost`, which must end the process.
    public func run() async throws {
        var cursors = CheckpointCursors()
        try await PeriodicLoop("checkpoints", PeriodicSchedule(every: interval), logger: logger, isFatal: { $0 is LeaseLost }).run {
            try await tick(&cursors)
        }
    }

    /// Saves new text in as many statements as needed. The first failure ends the tick; the next tick continues there.
    private func tick(_ cursors: inout CheckpointCursors) async throws {
        var turns = registry.running[...]
        cursors.begin(Array(turns))
        while !turns.isEmpty {
            let batch = cursors.collect(&turns, limit: bytesPerStatement)
            if !batch.isEmpty { try await save(batch, &cursors) }
        }
    }

    /// When the database rejects the batch, saves each turn separately and leaves out the rejected ones for good, so that one bad row does not
    /// prevent the other checkpoints.
    private func save(_ batch: [TurnProgress], _ cursors: inout CheckpointCursors) async throws {
        do {
            return cursors.saved(batch, as: try await recovery.checkpoint(batch, cursors.neededFrom))
        } catch StoreFault.unexpected(let reason) {
            logger.error("a checkpoint was rejected: each turn is saved separately", metadata: ["error": "\(reason)"])
        }
        for progress in batch {
            do {
                cursors.saved([progress], as: try await recovery.checkpoint([progress], cursors.neededFrom))
            } catch StoreFault.unexpected(let reason) {
                cursors.leaveOut(progress.facts.identity)
                logger.critical(
                    "a turn cannot be checkpointed: a crash would lose its text",
                    metadata: ["turn_id": "\(progress.facts.identity.turnID)", "error": "\(reason)"])
            }
        }
    }
}
