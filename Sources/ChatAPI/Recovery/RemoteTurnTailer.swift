import BackgroundJobs
import CoachCore
import Logging
import ServiceLifecycle
import Synchronization
import TokenRelay

/// Streams turns that run on other instances to subscribers here, by polling their checkpoints. Polling and not notifications: it needs no
/// extra connection, and its delay is well below the permitted second.
public final class RemoteTurnTailer: Service {
    private let recovery: TurnRecovery
    private let interval: Duration
    private let logger: Logger
    /// A turn that is tailed here.
    private struct Entry {
        var turn: LiveTurn
        /// The number of polls since the last one with a subscriber. An entry begins without one: its subscriber is added a moment later.
        var pollsWithoutSubscribers = 0
        /// The id of the newest checkpoint that was read.
        var seen: Int64?
    }
    private let turns = Mutex<[TurnID: Entry]>([:])

    public init(recovery: TurnRecovery, logger: Logger, interval: Duration = .milliseconds(250)) {
        self.recovery = recovery
        self.logger = logger
        self.interval = interval
    }

    /// The local copy of a turn that runs elsewhere; all its subscribers here share it, and it is kept while it has any.
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

    /// Runs until cancelled.
    public func run() async throws {
        try await PeriodicLoop("text of other instances' turns", PeriodicSchedule(every: interval, firstAfter: interval), logger: logger)
            .run {
                let followed = poll()
                if !followed.isEmpty { try await catchUp(followed) }
            }
    }

    /// Returns the tails with subscribers, and removes those that have had none for `idlePolls` polls.
    private func poll() -> [TurnID: LiveTurn] {
        turns.withLock { turns in
            turns = turns.compactMapValues { entry in
                var entry = entry
                entry.pollsWithoutSubscribers = entry.turn.hasSubscribers ? 0 : entry.pollsWithoutSubscribers + 1
                return entry.pollsWithoutSubscribers > Self.idlePolls ? nil : entry
            }
            return turns.compactMapValues { $0.turn.hasSubscribers ? $0.turn : nil }
        }
    }

    /// After how many polls without subscribers a tail is removed.
    private static let idlePolls = 20

    /// Reads the new text of the turns, and closes those that no longer run.
    private func catchUp(_ followed: [TurnID: LiveTurn]) async throws {
        let seen = turns.withLock { $0.compactMapValues(\.seen) }
        let cursors = followed.map { TurnCursor(userID: $1.facts.userID, turnID: $0, afterByte: $1.releasedBytes, seen: seen[$0]) }
        let positions = Dictionary(uniqueKeysWithValues: cursors.map { ($0.turnID, $0.afterByte) })
        let tails = try await recovery.tail(cursors)
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

    /// Closes the tail of a turn that no longer runs.
    private func end(_ turn: LiveTurn) async throws {
        guard let known = try await recovery.load(turn.facts.userID, turn.facts.identity.turnID) else {
            // Its conversation was deleted, which stops the turn.
            return turn.close(TurnEnding(status: .stopped, finishReason: .stopped, bill: nil))
        }
        guard known.identity.attempt == turn.facts.identity.attempt else { return forget(turn) }
        guard known.status != .running else { return }
        turn.appendRemote(Array(known.content.utf8), from: 0)
        turn.close(TurnEnding(status: known.status, finishReason: known.finishReason, bill: known.bill))
        turns.withLock { _ = $0.removeValue(forKey: known.identity.turnID) }
    }

    /// Closes the tail of an attempt that was replaced by the next one, and so left no text. Its subscribers can request the next.
    private func forget(_ turn: LiveTurn) {
        turn.close(.withoutText)
        let id = turn.facts.identity.turnID
        turns.withLock { turns in
            if turns[id]?.turn === turn { turns[id] = nil }
        }
    }
}
