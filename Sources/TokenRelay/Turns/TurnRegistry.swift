import CoachCore
import Synchronization

/// The turns that run in this process. A closed connection removes a follower, never a turn.
public final class TurnRegistry: Sendable {
    private struct State {
        var turns: [TurnID: LiveTurn] = [:]
        var idle: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    /// An empty registry.
    public init() {}

    /// Adds a turn; it stays until `remove`.
    public func insert(_ turn: LiveTurn) {
        state.withLock { $0.turns[turn.facts.identity.turnID] = turn }
    }

    /// Removes a turn that is saved. Its followers keep it alive until they have read it.
    public func remove(_ turn: LiveTurn) {
        let idle: [CheckedContinuation<Void, Never>] = state.withLock { state in
            let id = turn.facts.identity.turnID
            if state.turns[id] === turn { state.turns[id] = nil }
            guard state.turns.isEmpty else { return [] }
            defer { state.idle = [] }
            return state.idle
        }
        for continuation in idle { continuation.resume() }
    }

    /// The running turn of that id.
    public func turn(_ id: TurnID) -> LiveTurn? { state.withLock { $0.turns[id] } }

    /// The same, waiting for a turn that was begun a moment ago by a request that has not entered it yet.
    public func turn(_ id: TurnID, within patience: Duration) async -> LiveTurn? {
        let deadline = ContinuousClock.now + patience
        while true {
            if let turn = turn(id) { return turn }
            guard ContinuousClock.now < deadline, (try? await Task.sleep(for: .milliseconds(10))) != nil else { return nil }
        }
    }

    /// All running turns.
    public var running: [LiveTurn] { state.withLock { Array($0.turns.values) } }

    /// Running turns.
    public var count: Int { state.withLock { $0.turns.count } }

    /// Suspends until no turn runs. The caller bounds the wait.
    public func drained() async {
        await withCheckedContinuation { continuation in
            let empty = state.withLock { state in
                if !state.turns.isEmpty { state.idle.append(continuation) }
                return state.turns.isEmpty
            }
            if empty { continuation.resume() }
        }
    }
}
