import BackgroundJobs
import CoachCore
import Logging
import ServiceLifecycle
import TokenRelay

/// Saves the new text of running turns in the database four times a second, so that a crash of this instance loses at most the text since
/// then. Other instances also read checkpoints, to stream turns that run here.
public struct Checkpointer: Service {
    let recovery: TurnRecovery
    let registry: TurnRegistry
    let logger: Logger
    let interval: Duration
    let bytesPerStatement: Int

    /// - Parameters:
    ///   - interval: between two checkpoints; bounds how much text a crash can lose.
    ///   - bytesPerStatement: bounds a statement, because other statements on the connection wait behind it. After an outage there may be
    ///     64 KiB of text for each of 2,000 turns. A statement exceeds it by at most one turn's text.
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

    /// Runs until cancelled, and so also while turns end in a graceful shutdown. Throws `LeaseLost`, after which the process must end.
    public func run() async throws {
        var cursors = CheckpointCursors()
        try await PeriodicLoop("checkpoints", PeriodicSchedule(every: interval), logger: logger, isFatal: { $0 is LeaseLost }).run {
            try await tick(&cursors)
        }
    }

    /// Saves all new text, share by share over the interval, in as many statements as needed. The first failure ends the tick; the next tick
    /// saves what is left.
    private func tick(_ cursors: inout CheckpointCursors) async throws {
        let began = ContinuousClock.now
        let running = registry.running()
        cursors.begin(running)
        let shares = CheckpointShares(turns: running.count)
        var next = 0
        while next < shares.count {
            if next > 0 { try await Task.sleep(until: began + interval * next / shares.count, clock: .continuous) }
            let due = shares.due(from: next, after: .now - began, of: interval)
            // Those that run now: a turn that began since is saved with its share.
            var turns = registry.running { due.contains(shares.share(of: $0)) }[...]
            while !turns.isEmpty {
                let batch = cursors.collect(&turns, limit: bytesPerStatement)
                if !batch.isEmpty { try await save(batch, &cursors) }
            }
            next = due.upperBound
        }
    }

    /// Saves a batch. If the database rejects it, saves each turn separately and leaves out the rejected turns from then on, so that one
    /// bad row does not prevent the other checkpoints.
    private func save(_ batch: [TurnProgress], _ cursors: inout CheckpointCursors) async throws {
        do {
            return try await saveTogether(batch, &cursors)
        } catch StoreFault.unexpected(let reason) {
            logger.error("a checkpoint was rejected: each turn is saved separately", metadata: ["error": "\(reason)"])
        }
        for progress in batch {
            do {
                try await saveTogether([progress], &cursors)
            } catch StoreFault.unexpected(let reason) {
                cursors.leaveOut(progress.identity)
                logger.critical(
                    "a turn cannot be checkpointed: a crash would lose its text",
                    metadata: ["turn_id": "\(progress.identity.turnID)", "error": "\(reason)"])
            }
        }
    }

    private func saveTogether(_ batch: [TurnProgress], _ cursors: inout CheckpointCursors) async throws {
        do {
            cursors.saved(batch, as: try await recovery.checkpoint(batch, cursors.neededFrom))
        } catch {
            cursors.failed(batch)
            throw error
        }
    }
}
