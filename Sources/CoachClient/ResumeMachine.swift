import Foundation
import GatewayAPI

/// Decides what one connection's events, refusal or loss mean for the whole answer. Knows no bytes and no clock.
///
/// The answer is one growing text, and `received` is how much of it the app has. Whatever a connection brings is compared with
/// that: what the app has is dropped, what would leave a hole is asked for again.
struct ResumeMachine {
    /// How the turn is asked for at first.
    enum Opening: Equatable {
        /// Asking twice does the same as asking once.
        case repeatable
        /// Asking twice may do it twice, so it is repeated only after an answer that proves that nothing happened.
        case once
    }

    /// What the next connection asks for.
    enum Connection: Equatable {
        case open
        case resume(turn: UUID, after: Int)
    }

    enum Reaction: Equatable {
        case deliver(StreamEvent)
        case ignore
        /// Deliver it; the answer is complete.
        case finish(StreamEvent)
        case fail(CoachError)
        case reconnect(after: Duration)
    }

    private let opening: Opening
    private var turn: UUID?
    private var hasStarted = false
    /// Of the text that was received.
    private var attempt: Int?
    /// UTF-8 bytes of the answer that were delivered.
    private(set) var received = 0
    private var safety: StreamSafety?
    private var usage: StreamUsage?
    private var attempts: Attempts

    init(_ opening: Opening, policy: RetryPolicy) {
        self.opening = opening
        attempts = Attempts(policy: policy)
    }

    /// Takes up a turn of which the app already has `received` bytes.
    init(resuming turn: UUID, received: Int, policy: RetryPolicy) {
        self.init(.repeatable, policy: policy)
        self.turn = turn
        self.received = received
    }

    var next: Connection {
        turn.map { .resume(turn: $0, after: received) } ?? .open
    }
}

// MARK: - Events

extension ResumeMachine {
    /// An event of a successful response. `id` is its position in the answer; without one the text is taken to follow directly.
    mutating func event(_ event: StreamEvent, id: Int?, jitter: Double) -> Reaction {
        switch event {
        case .start(let start): started(start)
        case .safety(let card): news(event, isNew: replace(&safety, card))
        case .token(let content): token(content, id: id, jitter: jitter)
        case .usage(let report): news(event, isNew: replace(&usage, report))
        case .done:
            if let id, id > received {
                lost(.unreadable("the stream ended at byte \(id), \(received) have come"), jitter: jitter)
            } else {
                .finish(event)
            }
        case .error(let failure):
            hasStarted ? fail(CoachError(failure)) : refused(CoachError(failure), jitter: jitter)
        }
    }

    private mutating func started(_ start: StreamStart) -> Reaction {
        guard turn == nil || turn == start.turnID else { return fail(.unreadable("the stream continued with another turn")) }
        turn = start.turnID
        if received > 0, let attempt, attempt != start.attempt {
            return fail(
                CoachError(
                    StreamFailure(
                        code: .providersUnavailable, message: "the answer that was read is lost: the turn is in another attempt",
                        userMessage: "Coach is taking a moment. Let's try again.", action: .retry, retryable: true, partial: true,
                        keptBytes: 0)))
        }
        attempt = start.attempt
        return news(.start(start), isNew: replace(&hasStarted, true))
    }

    private mutating func token(_ content: String, id: Int?, jitter: Double) -> Reaction {
        guard hasStarted else { return fail(.unreadable("the stream has text before its start")) }
        let size = content.utf8.count
        let end = id ?? received + size
        let known = received - (end - size)
        guard known >= 0 else { return lost(.unreadable("the stream goes on behind byte \(received)"), jitter: jitter) }
        guard end > received else { return .ignore }
        received = end
        let new = known == 0 ? content : String(decoding: content.utf8.dropFirst(known), as: UTF8.self)
        return news(.token(content: new), isNew: true)
    }

    private mutating func news(_ event: StreamEvent, isNew: Bool) -> Reaction {
        guard isNew else { return .ignore }
        attempts.progress()
        return .deliver(event)
    }

    /// Whether the new value differs from the old one.
    private func replace<Value: Equatable>(_ value: inout Value, _ new: Value) -> Bool {
        defer { value = new }
        return value != new
    }
}

// MARK: - Ends that are none

extension ResumeMachine {
    /// A connection was answered with success.
    mutating func opened() { attempts.opened() }

    /// The gateway answered, but not with a stream.
    mutating func refused(_ error: CoachError, jitter: Double) -> Reaction {
        reaction(to: attempts.refused(error, mayRepeat: isRepeatable || error.provesThatNothingHappened, jitter: jitter))
    }

    /// The connection could not be made, was cut, fell silent or became unreadable.
    mutating func lost(_ error: CoachError, jitter: Double) -> Reaction {
        reaction(to: attempts.lost(error, mayRepeat: isRepeatable || error.code == .unreachable, jitter: jitter))
    }

    /// Once the turn is known, every further request only reads.
    private var isRepeatable: Bool { opening == .repeatable || turn != nil }

    private func reaction(to verdict: Attempts.Verdict) -> Reaction {
        switch verdict {
        case .again(let pause): return .reconnect(after: pause)
        case .giveUp(var error):
            // No event says it here, but the app has a part.
            error.partial = error.partial || received > 0
            return fail(error)
        }
    }

    private func fail(_ error: CoachError) -> Reaction {
        var error = error
        error.turnID = turn
        return .fail(error)
    }
}

extension CoachError {
    fileprivate var provesThatNothingHappened: Bool {
        [.gateway(.rateLimited), .gateway(.overloaded), .gateway(.databaseUnavailable)].contains(code)
    }
}
