import CoachCore
import Synchronization

/// The turns that run in this process, by id. It keeps a turn until the turn is saved, whether or not clients are connected. Any thread.
public final class TurnRegistry: Sendable {
    /// A turn that has begun and is not inserted yet; keeps a stop for it.
    private struct Announced {
        var userID: UserID
        var isStopped = false
        var onStop: (@Sendable () -> Void)?
    }

    private struct State {
        var turns: [TurnID: LiveTurn] = [:]
        /// Callers of `turn(_:within:)` that wait for a turn to be inserted, by a number for each.
        var waiters: [TurnID: [Int: AsyncStream<LiveTurn>.Continuation]] = [:]
        var lastWaiter = 0
        /// Turns that have begun and are not inserted yet.
        var announced: [TurnID: Announced] = [:]
    }

    private let state = Mutex(State())
    private let active = ActiveCount()

    public init() {}

    /// Announces a turn that will be inserted: `stop` reaches it already.
    public func announce(_ id: TurnID, of userID: UserID) { state.withLock { $0.announced[id] = Announced(userID: userID) } }

    /// Takes back the announcement of a turn that ends without being inserted.
    public func withdraw(_ id: TurnID) { state.withLock { $0.announced[id] = nil } }

    /// Whether a turn of this user has begun here and is not inserted yet.
    public func isAnnounced(_ id: TurnID, of userID: UserID) -> Bool { state.withLock { $0.announced[id]?.userID == userID } }

    /// Calls `body` once when an announced turn is stopped before it is inserted; at once when it was stopped already.
    public func onStop(of id: TurnID, _ body: @escaping @Sendable () -> Void) {
        let isStopped = state.withLock { state in
            state.announced[id]?.onStop = body
            return state.announced[id]?.isStopped == true
        }
        if isStopped { body() }
    }

    /// Adds a turn; it stays until `remove`. Stops it if `stop` was called after its announcement.
    public func insert(_ turn: LiveTurn) {
        let id = turn.facts.identity.turnID
        let (isNew, waiters, isStopped) = state.withLock { state in
            (
                state.turns.updateValue(turn, forKey: id) == nil, state.waiters.removeValue(forKey: id) ?? [:],
                state.announced.removeValue(forKey: id)?.isStopped ?? false
            )
        }
        if isStopped { turn.stop() }
        if isNew { active.increment() }
        for continuation in waiters.values { continuation.yield(turn) }
    }

    /// Stops a turn that runs here, or is about to.
    public func stop(_ id: TurnID) {
        let (turn, onStop) = state.withLock { state in
            let isFirst = state.announced[id]?.isStopped == false
            state.announced[id]?.isStopped = true
            return (state.turns[id], isFirst ? state.announced[id]?.onStop : nil)
        }
        onStop?()
        turn?.stop()
    }

    /// Removes a turn that was saved. Its subscribers hold references to it until they have read it.
    public func remove(_ turn: LiveTurn) {
        let wasPresent = state.withLock { state in
            let id = turn.facts.identity.turnID
            guard state.turns[id] === turn else { return false }
            state.turns[id] = nil
            return true
        }
        if wasPresent { active.decrement() }
    }

    public func turn(_ id: TurnID) -> LiveTurn? { state.withLock { $0.turns[id] } }

    /// The running turn of that id. Waits up to `timeout` for it: a request may have begun it and not inserted it yet.
    public func turn(_ id: TurnID, within timeout: Duration) async -> LiveTurn? {
        let (stream, continuation) = AsyncStream.makeStream(of: LiveTurn.self)
        let (known, waiter) = state.withLock { state in
            state.lastWaiter += 1
            if state.turns[id] == nil { state.waiters[id, default: [:]][state.lastWaiter] = continuation }
            return (state.turns[id], state.lastWaiter)
        }
        if let known { return known }
        defer {
            state.withLock { state in
                state.waiters[id]?[waiter] = nil
                if state.waiters[id]?.isEmpty == true { state.waiters[id] = nil }
            }
        }
        return await stream.first(within: timeout)
    }

    /// The running turns with an id that the closure accepts; without a closure, all.
    public func running(where isIncluded: (TurnID) -> Bool = { _ in true }) -> [LiveTurn] {
        state.withLock { state in state.turns.keys.filter(isIncluded).compactMap { state.turns[$0] } }
    }

    /// The number of running turns.
    public var count: Int { state.withLock { $0.turns.count } }

    /// Suspends until no turn runs, or the task is cancelled.
    public func drained() async { await active.drained() }
}
