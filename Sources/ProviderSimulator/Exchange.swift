import Foundation
import JSON
import Synchronization

/// A chat request and the progress of its response; an entry of the journal.
final class Exchange: Sendable {
    typealias Outcome = RecordedRequest.Outcome

    let sequence: Int
    let received: Date
    private let start = ContinuousClock.now
    /// The request, as the journal shows it.
    private let description: [JSONMember]
    private let sent = Atomic<Int>(0)
    private let ending = Mutex<(outcome: Outcome, status: Int?, afterMs: Double?)>((.running, nil, nil))
    private let onEnd: @Sendable (Outcome) -> Void

    init(sequence: Int, description: [JSONMember], onEnd: @escaping @Sendable (Outcome) -> Void) {
        self.sequence = sequence
        self.description = description
        self.onEnd = onEnd
        received = Date()
    }

    var elapsedMs: Double { (ContinuousClock.now - start) / .milliseconds(1) }

    func answered(status: Int) { ending.withLock { $0.status = status } }

    func sentTokens(_ count: Int) { sent.add(count, ordering: .relaxed) }

    /// Records the outcome. Only the first one counts: a connection that closes after the last byte is not an aborted response.
    func end(_ outcome: Outcome) {
        let isFirst = ending.withLock { ending in
            guard ending.outcome == .running else { return false }
            ending.outcome = outcome
            ending.afterMs = elapsedMs
            return true
        }
        if isFirst { onEnd(outcome) }
    }

    var record: RecordedRequest {
        let (outcome, status, afterMs) = ending.withLock { $0 }
        let description = JSONValue.object(description)
        let headers = Dictionary((description["headers"]?.members ?? []).map { ($0.key, $0.value.string ?? "") }) { _, last in last }
        let messages = (description["messages"]?.elements ?? []).map { message in
            let content = message["content"]
            let text = content?.string ?? (content?.elements ?? []).compactMap { $0["text"]?.string }.joined(separator: "\n")
            return RecordedRequest.Message(role: message["role"]?.string ?? "", text: text)
        }
        return RecordedRequest(
            sequence: sequence, received: received, model: description["model"]?.string, messages: messages,
            isStreamed: description["stream"] == true, headers: headers, status: status, outcome: outcome,
            tokensSent: sent.load(ordering: .relaxed), endedAfter: afterMs.map { .nanoseconds(Int64($0 * 1_000_000)) })
    }

    var json: JSONValue {
        let (outcome, status, afterMs) = ending.withLock { $0 }
        return .object(
            description + [
                JSONMember("sequence", .count(sequence)),
                JSONMember("time", .string(Timestamp(received).rfc3339)),
                JSONMember("outcome", .string(outcome.rawValue)),
                JSONMember("status", status.map(JSONValue.count) ?? .null),
                JSONMember("finished", .bool(outcome == .finished)),
                JSONMember("client_closed", .bool(outcome == .clientClosed)),
                JSONMember("ended_after_ms", afterMs.map { .number(($0 * 1000).rounded() / 1000) } ?? .null),
                JSONMember("tokens_sent", .count(sent.load(ordering: .relaxed))),
            ])
    }
}
