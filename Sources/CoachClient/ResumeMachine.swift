import Foundation
import GatewayAPI

/// Assembles one answer from the events of several connections, and decides when to reconnect. Pure: it has no socket and no clock.
///
/// The answer is an append-only text of which the app has `received` bytes. Repeated text is dropped; after a gap the stream is resumed
/// at `received`.
struct ResumeMachine {
    /// The request of the next connection.
    enum Connection: Equatable {
        /// Begins the turn. It has an idempotency key, so that it can be repeated.
        case start
        case resume(turn: UUID, after: Int)
    }

    enum Action: Equatable {
        case deliver(StreamEvent)
        case ignore
        /// Deliver the event, which completes the answer.
        case finish(StreamEvent)
        case fail(CoachError)
        case reconnect(after: Duration)
    }

    private var turn: UUID?
    private var hasStarted = false
    /// The attempt of the turn that the received text belongs to.
    private var attempt: Int?
    /// The UTF-8 bytes of the answer that the app has.
    private(set) var received = 0
    private var safety: StreamSafety?
    private var usage: StreamUsage?
    private var retryState: RetryState

    init(policy: RetryPolicy) {
        retryState = RetryState(policy: policy)
    }

    /// Resumes a turn of which the app already has `received` bytes.
    init(resuming turn: UUID, received: Int, policy: RetryPolicy) {
        self.init(policy: policy)
        self.turn = turn
        self.received = received
    }

    var next: Connection {
        turn.map { .resume(turn: $0, after: received) } ?? .start
    }
}

// MARK: - Events

extension ResumeMachine {
    /// Handles an event of a successful response. `id` is the cursor after the event; without one its text follows the received text.
    mutating func event(_ event: StreamEvent, id: Int?, jitter: Double) -> Action {
        switch event {
        case .start(let start): started(start)
        case .safety(let card): deliver(event, ifNew: replace(&safety, card))
        case .token(let content): token(content, id: id, jitter: jitter)
        case .usage(let report): deliver(event, ifNew: replace(&usage, report))
        case .done:
            if let id, id > received {
                lost(.unreadable("the stream ended at byte \(id), \(received) have come"), jitter: jitter)
            } else {
                .finish(event)
            }
        case .error(let failure):
            hasStarted ? fail(CoachError(failure)) : rejected(CoachError(failure), jitter: jitter)
        }
    }

    private mutating func started(_ start: StreamStart) -> Action {
        guard turn == nil || turn == start.turnID else { return fail(.unreadable("the stream continued with another turn")) }
        turn = start.turnID
        if received > 0, let attempt, attempt != start.attempt {
            return fail(
                CoachError(
                    StreamFailure(
                        code: .providersUnavailable, message: "the answer that was read is lost: the turn is in another attempt",
                        userMessage: CoachError.UserMessage.takingAMoment, action: .retry, retryable: true, partial: true, keptBytes: 0)))
        }
        attempt = start.attempt
        return deliver(.start(start), ifNew: replace(&hasStarted, true))
    }

    private mutating func token(_ content: String, id: Int?, jitter: Double) -> Action {
        guard hasStarted else { return fail(.unreadable("the stream has text before its start")) }
        let size = content.utf8.count
        let end = id ?? received + size
        guard end >= size else { return lost(.unreadable("the stream has text before byte 0"), jitter: jitter) }
        let known = received - (end - size)
        guard known >= 0 else { return lost(.unreadable("the stream goes on behind byte \(received)"), jitter: jitter) }
        guard end > received else { return .ignore }
        received = end
        let new = known == 0 ? content : String(decoding: content.utf8.dropFirst(known), as: UTF8.self)
        return deliver(.token(content: new), ifNew: true)
    }

    private mutating func deliver(_ event: StreamEvent, ifNew isNew: Bool) -> Action {
        guard isNew else { return .ignore }
        retryState.madeProgress()
        return .deliver(event)
    }

    /// Stores the new value and returns whether it differs from the old one.
    private func replace<Value: Equatable>(_ value: inout Value, _ new: Value) -> Bool {
        defer { value = new }
        return value != new
    }
}

// MARK: - Failed connections

extension ResumeMachine {
    /// The gateway answered with a status of 2xx.
    mutating func accepted() { retryState.accepted() }

    /// The gateway answered with an error.
    mutating func rejected(_ error: CoachError, jitter: Double) -> Action {
        action(for: retryState.rejected(error, jitter: jitter))
    }

    /// There was no connection, or it was closed early, exceeded the idle timeout, or delivered invalid data.
    mutating func lost(_ error: CoachError, jitter: Double) -> Action {
        action(for: retryState.lost(error, jitter: jitter))
    }

    /// The request of a connection could not be made: the app had no token for it.
    mutating func unsent(_ error: CoachError, jitter: Double) -> Action {
        error.retryable ? lost(error, jitter: jitter) : action(for: .giveUp(error))
    }

    private func action(for decision: RetryState.Decision) -> Action {
        switch decision {
        case .retry(let pause): return .reconnect(after: pause)
        case .giveUp(var error):
            // No error event was received, but the app has a part of the answer.
            error.partial = error.partial || received > 0
            return fail(error)
        }
    }

    private func fail(_ error: CoachError) -> Action {
        var error = error
        error.turnID = turn
        return .fail(error)
    }
}
