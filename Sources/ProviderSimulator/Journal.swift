import Synchronization

/// The latest requests and counts of all of them.
final class Journal: Sendable {
    private struct State {
        var exchanges: [Exchange] = []
        var stats = SimulatorStats()
        var sequence = 0
    }
    private let state = Mutex(State())
    private let capacity: Int

    init(capacity: Int) { self.capacity = max(1, capacity) }

    var stats: SimulatorStats { state.withLock { $0.stats } }

    func begin(_ description: [String: JSONValue]) -> Exchange {
        state.withLock { state in
            state.sequence += 1
            state.stats.began()
            let exchange = Exchange(sequence: state.sequence, description: description) { [weak self] outcome in
                self?.state.withLock { $0.stats.ended(outcome) }
            }
            state.exchanges.append(exchange)
            // Dropped in blocks, so that a full ring does not move its content for every request.
            if state.exchanges.count > capacity + capacity / 4 { state.exchanges.removeFirst(state.exchanges.count - capacity) }
            return exchange
        }
    }

    /// The requests with a higher sequence number, oldest first; at most the ring's capacity.
    func exchanges(after sequence: Int) -> [Exchange] {
        state.withLock { state in state.exchanges.suffix(capacity).filter { $0.sequence > sequence } }
    }
}

/// Counts since the start of the simulator.
public struct SimulatorStats: Sendable, Equatable {
    /// Requests for an answer, refused ones included.
    public private(set) var started = 0
    /// Sent to their regular end.
    public private(set) var finished = 0
    /// The client hung up first.
    public private(set) var clientClosed = 0
    /// Refused: no key, no such model, not valid.
    public private(set) var rejected = 0
    /// Failed because a script said so.
    public private(set) var failed = 0
    /// Cut by the end of the simulator.
    public private(set) var stopped = 0
    /// Being answered now.
    public private(set) var running = 0
    /// The most that were being answered at once.
    public private(set) var peak = 0

    mutating func began() {
        started += 1
        running += 1
        peak = max(peak, running)
    }

    mutating func ended(_ outcome: Exchange.Outcome) {
        running -= 1
        switch outcome {
        case .finished: finished += 1
        case .clientClosed: clientClosed += 1
        case .rejected: rejected += 1
        case .failed: failed += 1
        case .stopped: stopped += 1
        case .running: assertionFailure("running is not an ending")
        }
    }

    var json: JSONValue {
        [
            "started": .integer(started), "finished": .integer(finished), "client_closed": .integer(clientClosed),
            "rejected": .integer(rejected), "failed": .integer(failed), "stopped": .integer(stopped), "running": .integer(running),
            "peak": .integer(peak),
        ]
    }
}
