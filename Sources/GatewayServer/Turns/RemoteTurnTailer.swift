import BackgroundJobs
import CoachCore
import Logging
import ServiceLifecycle
import Synchronization
import TokenRelay

/// Turns that run on other instances and are followed here: their text comes from the checkpoints, at most `interval` behind them.
/// Polling alone: it is one mechanism, needs no connection of its own, and is well below the second that a follower may lag.
public final class RemoteTurnTailer: Service {
    private let recovery: TurnRecovery
    private let interval: Duration
    private let logger: Logger
    private struct Entry {
        var turn: LiveTurn
        /// For how many looks nobody has followed it: its first follower joins a moment after it is made.
        var pollsWithoutSubscribers = 0
        /// The newest checkpoint that it was looked up in.
        var seen: Int64?
    }
    private let turns = Mutex<[TurnID: Entry]>([:])

    /// Follows nothing yet.
    public init(recovery: TurnRecovery, logger: Logger, interval: Duration = .milliseconds(250)) {
        self.recovery = recovery
        self.logger = logger
        self.interval = interval
    }

    /// The mirror of a running turn; one for all its followers here. It lives as long as somebody follows it.
    func tail(_ known: KnownTurn, firstChoice: ModelName) -> LiveTurn {
        turns.withLock { turns in
            if let entry = turns[known.identity.turnID], entry.turn.facts.identity.attempt == known.identity.attempt {
                turns[known.identity.turnID]?.pollsWithoutSubscribers = 0
                return entry.turn
            }
            turns[known.identity.turnID]?.turn.close(.withoutText)
            let tail = LiveTurn(tailing: TurnFacts(known, firstChoice: firstChoice))
            turns[known.identity.turnID] = Entry(turn: tail)
            return tail
        }
    }

    /// Until cancelled.
    public func run() async throws {
        try await PeriodicLoop("text of other instances' turns", PeriodicSchedule(every: interval, firstAfter: interval), logger: logger)
            .run {
                let followed = look()
                if !followed.isEmpty { try await catchUp(followed) }
            }
    }

    /// The mirrors that somebody follows; those that nobody has followed for a while are forgotten.
    private func look() -> [TurnID: LiveTurn] {
        turns.withLock { turns in
            turns = turns.compactMapValues { entry in
                var entry = entry
                entry.pollsWithoutSubscribers = entry.turn.hasSubscribers ? 0 : entry.pollsWithoutSubscribers + 1
                return entry.pollsWithoutSubscribers > Self.patience ? nil : entry
            }
            return turns.compactMapValues { $0.turn.hasSubscribers ? $0.turn : nil }
        }
    }

    /// Looks.
    private static let patience = 20

    private func catchUp(_ followed: [TurnID: LiveTurn]) async throws {
        let seen = turns.withLock { $0.compactMapValues(\.seen) }
        let places = followed.map { TurnCursor(userID: $1.facts.userID, turnID: $0, afterByte: $1.releasedBytes, seen: seen[$0]) }
        let positions = Dictionary(uniqueKeysWithValues: places.map { ($0.turnID, $0.afterByte) })
        let tails = try await recovery.tail(places)
        for tail in tails {
            guard let turn = followed[tail.turnID], let position = positions[tail.turnID] else { continue }
            guard tail.attempt == turn.facts.identity.attempt else {
                forget(turn)
                continue
            }
            turn.appendRemote(Array(tail.text.utf8), from: position)
            turns.withLock { turns in
                if turns[tail.turnID]?.turn === turn { turns[tail.turnID]?.seen = tail.seen }
            }
        }
        for id in Set(followed.keys).subtracting(tails.map(\.turnID)) {
            if let turn = followed[id] { try await end(turn) }
        }
    }

    /// Tells the end of a turn that runs no more.
    private func end(_ turn: LiveTurn) async throws {
        guard let known = try await recovery.load(turn.facts.userID, turn.facts.identity.turnID) else {
            // Its conversation was deleted meanwhile, which stopped it.
            return turn.close(TurnEnding(status: .stopped, finishReason: .stopped, bill: nil))
        }
        guard known.identity.attempt == turn.facts.identity.attempt else { return forget(turn) }
        guard known.status != .running else { return }
        turn.appendRemote(Array(known.content.utf8), from: 0)
        turn.close(TurnEnding(status: known.status, finishReason: known.finishReason, bill: known.bill))
        turns.withLock { _ = $0.removeValue(forKey: known.identity.turnID) }
    }

    /// The turn is in its next attempt, so this one left no text: who followed it may ask for the next.
    private func forget(_ turn: LiveTurn) {
        turn.close(.withoutText)
        let id = turn.facts.identity.turnID
        turns.withLock { turns in
            if turns[id]?.turn === turn { turns[id] = nil }
        }
    }
}
