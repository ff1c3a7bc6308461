import CoachCore
import Logging
import ServiceLifecycle
import Synchronization
import TokenRelay

/// Saves what running turns have said, four times a second, and with it renews this instance's lease: behind a checkpoint nothing can
/// be lost. A checkpoint is a cursor like any other.
public struct Checkpointer: Service {
    let keeper: TurnKeeper
    let registry: TurnRegistry
    let logger: Logger
    let interval: Duration
    /// Without running turns only the lease is renewed, this many intervals apart.
    let idleIntervals: Int

    /// `interval`: what a crash may lose (DESIGN, Durability).
    public init(
        keeper: TurnKeeper, registry: TurnRegistry, logger: Logger, interval: Duration = .milliseconds(250), idleIntervals: Int = 4
    ) {
        self.keeper = keeper
        self.registry = registry
        self.logger = logger
        self.interval = interval
        self.idleIntervals = idleIntervals
    }

    /// Until cancelled: leases must hold while turns end, so a graceful shutdown alone does not stop it. Throws `Outlived`, which must end
    /// the process.
    public func run() async throws {
        var cursors = CheckpointCursors()
        var quiet = idleIntervals
        var isAway = false
        while !Task.isCancelled {
            // From beginning to beginning: a slow checkpoint does not put off the next one.
            let next = ContinuousClock.now + interval
            let batch = cursors.collect(registry.running)
            quiet += 1
            if !batch.isEmpty || quiet >= idleIntervals {
                do {
                    let stops = try await save(batch, &cursors)
                    for id in stops { registry.turn(id)?.stop() }
                    quiet = 0
                    if isAway { logger.notice("checkpoints are saved again") }
                    isAway = false
                } catch let outlived as Outlived {
                    logger.critical("another process lives as this instance: this one ends")
                    throw outlived
                } catch {
                    if !isAway { logger.error("checkpoints cannot be saved", metadata: ["error": "\(error)"]) }
                    isAway = true
                }
            }
            try? await Task.sleep(until: next)
        }
    }

    /// One bad row must not cost all turns their lease: when the database is there and refuses the batch, the lease is renewed without it,
    /// each turn is tried alone, and those that are refused are left out for good.
    private func save(_ batch: [TurnProgress], _ cursors: inout CheckpointCursors) async throws -> [TurnID] {
        do {
            let stops = try await keeper.checkpoint(batch)
            cursors.saved(batch)
            return stops
        } catch let fault as StoreFault {
            guard case .unexpected(let reason) = fault, !batch.isEmpty else { throw fault }
            logger.error("a checkpoint was refused: each turn is tried alone", metadata: ["error": "\(reason)"])
        }
        var stops = try await keeper.checkpoint([])
        for progress in batch {
            do {
                stops = try await keeper.checkpoint([progress])
                cursors.saved([progress])
            } catch StoreFault.unexpected(let reason) {
                cursors.leaveOut(progress.facts.identity)
                logger.critical(
                    "a turn cannot be checkpointed: a crash would lose its text",
                    metadata: ["turn_id": "\(progress.facts.identity.turnID)", "error": "\(reason)"])
            }
        }
        return stops
    }
}

/// How far each running turn is saved. Pure.
struct CheckpointCursors {
    private struct Place {
        var bytes = 0
        var isKnown = false
    }
    private var places: [TurnIdentity: Place] = [:]
    private var leftOut: Set<TurnIdentity> = []

    /// What is new in these turns; turns that are gone are forgotten.
    mutating func collect(_ turns: [LiveTurn]) -> [TurnProgress] {
        let running = Set(turns.map(\.facts.identity))
        places = places.filter { running.contains($0.key) }
        leftOut.formIntersection(running)
        return turns.compactMap { turn in
            guard !leftOut.contains(turn.facts.identity) else { return nil }
            let place = places[turn.facts.identity] ?? Place()
            let (text, answeredBy) = turn.said(from: place.bytes)
            guard !text.isEmpty || !place.isKnown else { return nil }
            return TurnProgress(
                facts: turn.facts, isFirst: !place.isKnown, promptTokens: turn.promptTokens, answeredBy: answeredBy, fromByte: place.bytes,
                text: String(decoding: text, as: UTF8.self))
        }
    }

    /// The database refuses what this turn says: it is not asked again.
    mutating func leaveOut(_ turn: TurnIdentity) { leftOut.insert(turn) }

    /// The batch is in the database.
    mutating func saved(_ batch: [TurnProgress]) {
        for progress in batch {
            places[progress.facts.identity] = Place(bytes: progress.fromByte + progress.text.utf8.count, isKnown: true)
        }
    }
}
