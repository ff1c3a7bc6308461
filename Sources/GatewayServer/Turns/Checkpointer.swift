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
                    for id in try await save(batch, &cursors) { registry.turn(id)?.stop() }
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
            let saved = try await keeper.checkpoint(batch, cursors.neededFrom)
            cursors.saved(batch, as: saved.id)
            return saved.stops
        } catch let fault as StoreFault {
            guard case .unexpected(let reason) = fault, !batch.isEmpty else { throw fault }
            logger.error("a checkpoint was refused: each turn is tried alone", metadata: ["error": "\(reason)"])
        }
        var stops = try await keeper.checkpoint([], cursors.neededFrom).stops
        for progress in batch {
            do {
                let saved = try await keeper.checkpoint([progress], cursors.neededFrom)
                cursors.saved([progress], as: saved.id)
                stops = saved.stops
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

/// How far each running turn is saved, and in which checkpoints. Pure.
///
/// A checkpoint holds what all turns have said since the one before, so without more it would be needed as long as the longest turn runs.
/// Therefore each turn says all again from its beginning once in so many ticks, not all at the same one: what is older can go, and who wants to
/// read a turn need not look further back.
struct CheckpointCursors {
    private struct Place {
        var bytes = 0
        var isKnown = false
        /// The checkpoint with all that was said until then.
        var whole: Int64?
    }
    private var places: [TurnIdentity: Place] = [:]
    private var leftOut: Set<TurnIdentity> = []
    private var tick: UInt8 = 0

    /// Ticks from one time that a turn says all to the next; divides 256. Eight seconds: then it costs about as much as what is new.
    static let wholeInterval: UInt8 = 32

    /// Checkpoints below this id hold nothing any more that a running turn has not said again.
    var neededFrom: Int64 { places.values.compactMap(\.whole).min() ?? .max }

    /// What is new in these turns; turns that are gone are forgotten.
    mutating func collect(_ turns: [LiveTurn]) -> [TurnProgress] {
        tick &+= 1
        let running = Set(turns.map(\.facts.identity))
        places = places.filter { running.contains($0.key) }
        leftOut.formIntersection(running)
        return turns.compactMap { turn in
            guard !leftOut.contains(turn.facts.identity) else { return nil }
            let place = places[turn.facts.identity] ?? Place()
            let from = Self.isWhole(turn.facts.identity.turnID, at: tick) ? 0 : place.bytes
            let (text, answeredBy) = turn.said(from: from)
            guard !text.isEmpty || !place.isKnown else { return nil }
            return TurnProgress(
                facts: turn.facts, isFirst: place.bytes == 0, promptTokens: turn.promptTokens, answeredBy: answeredBy, fromByte: from,
                text: String(decoding: text, as: UTF8.self))
        }
    }

    /// The database refuses what this turn says: it is not asked again.
    mutating func leaveOut(_ turn: TurnIdentity) { leftOut.insert(turn) }

    /// The batch is in the database. `id`: nil when it had no text.
    mutating func saved(_ batch: [TurnProgress], as id: Int64?) {
        for progress in batch {
            let isWhole = progress.fromByte == 0 && !progress.text.isEmpty
            places[progress.facts.identity] = Place(
                bytes: progress.fromByte + progress.text.utf8.count, isKnown: true,
                whole: isWhole ? id : places[progress.facts.identity]?.whole)
        }
    }

    /// Whether it is the turn's tick to say all. Turns are spread over the ticks by their ids, which are random.
    private static func isWhole(_ turn: TurnID, at tick: UInt8) -> Bool { turn.uuid.uuid.15 % wholeInterval == tick % wholeInterval }
}
