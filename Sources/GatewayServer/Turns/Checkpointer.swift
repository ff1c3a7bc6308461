import BackgroundJobs
import CoachCore
import Logging
import ServiceLifecycle
import TokenRelay

/// Saves what running turns have said, four times a second: behind a checkpoint nothing can be lost. A checkpoint is a cursor like any other.
/// The lease is renewed apart from it, by `LeaseRenewer`.
public struct Checkpointer: Service {
    let recovery: TurnRecovery
    let registry: TurnRegistry
    let logger: Logger
    let interval: Duration
    let bytesPerStatement: Int

    /// `interval`: what a crash may lose (DESIGN, Durability). `bytesPerStatement`: after an outage there may be 64 KiB for each of 2,000 turns,
    /// and other statements wait behind one on the same connection; a statement holds one turn's text more than this at most.
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

    /// Saves what is new, in as many statements as it takes. The first that fails ends the tick: the next one begins with what it left.
    private func tick(_ cursors: inout CheckpointCursors) async throws {
        var turns = registry.running[...]
        cursors.begin(Array(turns))
        while !turns.isEmpty {
            let batch = cursors.collect(&turns, limit: bytesPerStatement)
            if !batch.isEmpty { try await save(batch, &cursors) }
        }
    }

    /// One bad row must not cost the others their checkpoint: when the database is there and refuses the batch, each turn is tried alone, and
    /// those that are refused are left out for good.
    private func save(_ batch: [TurnProgress], _ cursors: inout CheckpointCursors) async throws {
        do {
            return cursors.saved(batch, as: try await recovery.checkpoint(batch, cursors.neededFrom))
        } catch StoreFault.unexpected(let reason) {
            logger.error("a checkpoint was refused: each turn is tried alone", metadata: ["error": "\(reason)"])
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
