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
        try await withThrowingTaskGroup { group in
            group.addTask {
                try await self.loop("text of other instances' turns") {
                    self.removeIdle()
                    try await self.catchUp(self.tailed { $0.seen != nil })
                }
            }
            // Apart, because the first text of a turn may be all of it, and is searched in all checkpoints of its owner. For a thousand turns,
            // as after the drain of another instance, that takes seconds. Turns that are read already get their text meanwhile.
            group.addTask {
                try await self.loop("first text of other instances' turns") { try await self.catchUp(self.tailed { $0.seen == nil }) }
            }
            try await group.waitForAll()
        }
    }

    private func loop(_ name: String, _ work: () async throws -> Void) async throws {
        try await PeriodicLoop(name, PeriodicSchedule(every: interval, firstAfter: interval), logger: logger).run(work)
    }

    /// Removes the tails that have had no subscribers for `idlePolls` polls.
    private func removeIdle() {
        turns.withLock { turns in
            turns = turns.compactMapValues { entry in
                var entry = entry
                entry.pollsWithoutSubscribers = entry.turn.hasSubscribers ? 0 : entry.pollsWithoutSubscribers + 1
                return entry.pollsWithoutSubscribers > Self.idlePolls ? nil : entry
            }
        }
    }

    /// After how many polls without subscribers a tail is removed.
    private static let idlePolls = 20

    /// The tails with subscribers.
    private func tailed(_ isIncluded: (Entry) -> Bool) -> [Entry] {
        turns.withLock { $0.values.filter { $0.turn.hasSubscribers && isIncluded($0) } }
    }

    /// Reads the new text of the turns, and closes those that no longer run. An error of some does not keep others from being read; the last
    /// one is thrown at the end.
    private func catchUp(_ tailed: [Entry]) async throws {
        var failure: (any Error)?
        var left = tailed[...]
        while !left.isEmpty {
            try Task.checkCancellation()
            do {
                try await read(left.prefix(Self.turnsPerStatement))
            } catch {
                failure = error
            }
            left = left.dropFirst(Self.turnsPerStatement)
        }
        if let failure { throw failure }
    }

    /// Bounds a statement to 8 MiB, a tenth of its time limit. Each also reads all newer checkpoints of its turns' owners: 2 to 5 ms for an
    /// owner of 2,000 turns, 150 ms when none was read before.
    static let turnsPerStatement = 128

    /// Reads the text so far of a turn that is tailed here, or its end, for a request that does not subscribe to it.
    func read(_ turn: LiveTurn) async throws {
        guard let entry = turns.withLock({ $0[turn.facts.identity.turnID] }), entry.turn === turn else { return }
        try await read([entry])
    }

    private func read(_ tailed: ArraySlice<Entry>) async throws {
        let cursors = tailed.map { entry in
            TurnCursor(
                userID: entry.turn.facts.userID, turnID: entry.turn.facts.identity.turnID, afterByte: entry.turn.releasedBytes,
                seen: entry.seen)
        }
        let tails = Dictionary(try await recovery.tail(cursors).map { ($0.turnID, $0) }) { first, _ in first }
        var ended: [LiveTurn] = []
        for (entry, cursor) in zip(tailed, cursors) {
            if let tail = tails[cursor.turnID] { append(tail, to: entry.turn, from: cursor.afterByte) } else { ended.append(entry.turn) }
        }
        try await end(ended)
    }

    private func append(_ tail: TurnTail, to turn: LiveTurn, from position: Int) {
        guard tail.attempt == turn.facts.identity.attempt else { return forget(turn) }
        turn.appendRemote(Array(tail.text.utf8), from: position)
        turns.withLock { turns in
            if turns[tail.turnID]?.turn === turn { turns[tail.turnID]?.seen = tail.seen }
        }
    }

    /// Closes the tails of turns that no longer run, a few at a time. An error of one does not keep the others open; it is thrown at the end.
    private func end(_ ended: [LiveTurn]) async throws {
        let failure = await withTaskGroup(of: (any Error)?.self) { group in
            var failure: (any Error)?
            for (index, turn) in ended.enumerated() {
                if index >= Self.loadsAtOnce, let error = await group.next() { failure = error ?? failure }
                group.addTask {
                    do {
                        try await self.end(turn)
                        return nil
                    } catch {
                        return error
                    }
                }
            }
            for await error in group { failure = error ?? failure }
            return failure
        }
        if let failure { throw failure }
    }

    /// Each may be 64 KiB on a connection that turns share.
    private static let loadsAtOnce = 8

    /// Closes the tail of a turn that no longer runs.
    private func end(_ turn: LiveTurn) async throws {
        guard let known = try await recovery.load(turn.facts.userID, turn.facts.identity.turnID) else {
            return turn.close(.deleted)
        }
        guard known.identity.attempt == turn.facts.identity.attempt else { return forget(turn) }
        guard known.status != .running else { return }
        turn.closeRemote(TurnEnding(known), saved: Array(known.content.utf8))
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
