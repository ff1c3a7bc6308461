import JSON
import Synchronization

/// Records the latest chat requests, and counts all of them.
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

    func begin(_ description: [JSONMember]) -> Exchange {
        state.withLock { state in
            state.sequence += 1
            state.stats.began()
            let exchange = Exchange(sequence: state.sequence, description: description) { [weak self] outcome in
                self?.state.withLock { $0.stats.ended(outcome) }
            }
            state.exchanges.append(exchange)
            // Removed in blocks, so that a full journal does not move its entries for every request.
            if state.exchanges.count > capacity + capacity / 4 { state.exchanges.removeFirst(state.exchanges.count - capacity) }
            return exchange
        }
    }

    /// The content of an entry: a request without the headers that carry secrets.
    static func description(
        of incoming: ReceivedRequest, model: JSONValue, messages: JSONValue, isStreamed: JSONValue, parameters: [JSONMember]
    ) -> [JSONMember] {
        let secrets: Set<String> = ["authorization", "api-key", "x-api-key", "x-goog-api-key", "x-amz-security-token", "cookie"]
        let headers = incoming.headers.map { JSONMember($0.name.lowercased(), .string($0.value)) }.filter { !secrets.contains($0.key) }
        return [
            JSONMember("path", .string(incoming.path)), JSONMember("model", model), JSONMember("messages", messages),
            JSONMember("stream", isStreamed), JSONMember("parameters", .object(parameters)), JSONMember("headers", .object(headers)),
        ]
    }

    /// The recorded requests with a higher sequence number, oldest first.
    func exchanges(after sequence: Int) -> [Exchange] {
        state.withLock { state in state.exchanges.suffix(capacity).filter { $0.sequence > sequence } }
    }
}

/// Counts of chat requests since the start of the simulator.
public struct SimulatorStats: Sendable, Equatable {
    /// All chat requests, including rejected ones.
    public private(set) var started = 0
    /// Responses sent to their regular end.
    public private(set) var finished = 0
    /// Responses during which the client closed the connection.
    public private(set) var clientClosed = 0
    /// Requests rejected because of the key, the model, or an invalid body.
    public private(set) var rejected = 0
    /// Responses that failed by their script.
    public private(set) var failed = 0
    /// Responses cut when the simulator stopped.
    public private(set) var stopped = 0
    /// Responses in progress.
    public private(set) var running = 0
    /// The most responses in progress at the same time.
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
            "started": .count(started), "finished": .count(finished), "client_closed": .count(clientClosed),
            "rejected": .count(rejected), "failed": .count(failed), "stopped": .count(stopped), "running": .count(running),
            "peak": .count(peak),
        ]
    }
}
