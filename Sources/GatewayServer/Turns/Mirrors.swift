import CoachCore
import Logging
import ServiceLifecycle
import Synchronization
import TokenRelay

/// Turns that run on other instances and are followed here: their text comes from the checkpoints, at most `interval` behind them.
/// Polling alone: it is one mechanism, needs no connection of its own, and is well below the second that a follower may lag.
public final class Mirrors: Service {
    private let keeper: TurnKeeper
    private let interval: Duration
    private let logger: Logger
    private let turns = Mutex<[TurnID: LiveTurn]>([:])

    /// Follows nothing yet.
    public init(keeper: TurnKeeper, logger: Logger, interval: Duration = .milliseconds(250)) {
        self.keeper = keeper
        self.logger = logger
        self.interval = interval
    }

    /// The mirror of a running turn; one for all its followers here. It lives as long as somebody follows it.
    func mirror(_ known: KnownTurn, firstChoice: ModelName) -> LiveTurn {
        turns.withLock { turns in
            if let mirror = turns[known.identity.turnID] { return mirror }
            let mirror = LiveTurn(mirroring: TurnFacts(known, firstChoice: firstChoice))
            turns[known.identity.turnID] = mirror
            return mirror
        }
    }

    /// Until cancelled.
    public func run() async throws {
        while !Task.isCancelled {
            try? await Task.sleep(for: interval)
            let followed = turns.withLock { turns in
                turns = turns.filter { $0.value.isFollowed }
                return turns
            }
            guard !followed.isEmpty else { continue }
            do { try await catchUp(followed) } catch {
                logger.warning("turns of other instances cannot be read", metadata: ["error": "\(error)"])
            }
        }
    }

    private func catchUp(_ followed: [TurnID: LiveTurn]) async throws {
        let places = followed.map { TurnPlace(userID: $1.facts.userID, turnID: $0, afterByte: $1.releasedBytes) }
        let positions = Dictionary(uniqueKeysWithValues: places.map { ($0.turnID, $0.afterByte) })
        let tails = try await keeper.tail(places)
        for tail in tails {
            guard let turn = followed[tail.turnID], let position = positions[tail.turnID] else { continue }
            turn.mirror(Array(tail.text.utf8), from: position)
            if !tail.isRunning { try await end(turn) }
        }
        // What has vanished with its conversation ends for its followers too.
        for id in Set(followed.keys).subtracting(tails.map(\.turnID)) {
            followed[id]?.close(TurnEnding(status: .interrupted, finishReason: nil, bill: nil))
        }
    }

    /// Tells the end, once the owner or a reaper has settled it.
    private func end(_ turn: LiveTurn) async throws {
        guard let known = try await keeper.load(turn.facts.userID, turn.facts.identity.turnID) else {
            // Its conversation was deleted meanwhile.
            return turn.close(TurnEnding(status: .interrupted, finishReason: nil, bill: nil))
        }
        guard known.status != .running else { return }
        turn.mirror(Array(known.content.utf8), from: 0)
        turn.close(TurnEnding(status: known.status, finishReason: known.finishReason, bill: known.bill))
        turns.withLock { _ = $0.removeValue(forKey: known.identity.turnID) }
    }
}
