import Foundation
import Synchronization

/// One request for an answer and what became of it.
final class Exchange: Sendable {
    /// How a request ended, as the provider saw it.
    enum Outcome: String, Sendable {
        case running
        /// Everything was sent.
        case finished
        /// The client hung up first.
        case clientClosed = "client_closed"
        /// The request was refused: no key, no such model, not valid.
        case rejected
        /// A script made it fail: an HTTP error, an error frame, a cut.
        case failed
        /// The simulator was stopped.
        case stopped
    }

    let sequence: Int
    let received: Date
    private let start = ContinuousClock.now
    private let description: [String: JSONValue]
    private let sent = Atomic<Int>(0)
    private let ending = Mutex<(outcome: Outcome, status: Int?, afterMs: Double?)>((.running, nil, nil))
    private let onEnd: @Sendable (Outcome) -> Void

    init(sequence: Int, description: [String: JSONValue], onEnd: @escaping @Sendable (Outcome) -> Void) {
        self.sequence = sequence
        self.description = description
        self.onEnd = onEnd
        received = Date()
    }

    var elapsedMs: Double { (ContinuousClock.now - start) / .milliseconds(1) }

    func answered(status: Int) { ending.withLock { $0.status = status } }

    func sentTokens(_ count: Int) { sent.add(count, ordering: .relaxed) }

    /// The first ending stands: a connection that closes after the last byte is not a client that hung up.
    func end(_ outcome: Outcome) {
        let isFirst = ending.withLock { ending in
            guard ending.outcome == .running else { return false }
            ending.outcome = outcome
            ending.afterMs = elapsedMs
            return true
        }
        if isFirst { onEnd(outcome) }
    }

    var json: JSONValue {
        let (outcome, status, afterMs) = ending.withLock { $0 }
        var fields = description
        fields["sequence"] = .integer(sequence)
        fields["time"] = .string(received.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true)))
        fields["outcome"] = .string(outcome.rawValue)
        fields["status"] = .optional(status)
        fields["finished"] = .bool(outcome == .finished)
        fields["client_closed"] = .bool(outcome == .clientClosed)
        fields["ended_after_ms"] = afterMs.map { .number(($0 * 1000).rounded() / 1000) } ?? .null
        fields["tokens_sent"] = .integer(sent.load(ordering: .relaxed))
        return .object(fields)
    }
}
