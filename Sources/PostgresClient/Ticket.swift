import Reactor

/// One caller who waits for the reactor. He is answered exactly once: with a result, by his deadline, or by his cancellation.
///
/// SAFETY (`@unchecked Sendable`): made by the caller and handed to the reactor once; everything mutable is touched on the reactor's
/// thread only.
class PendingRequest: @unchecked Sendable {
    private(set) var isAnswered = false
    private var timer: TimerHandle?
    /// Called when the caller gives up first.
    var whenAbandoned: () -> Void = {}

    /// Whether the work is out of our hands, so that the caller must be told that it may have been done.
    var isOutOfOurHands: Bool { false }

    /// Starts the deadline, nil: none. `whenAbandoned` is called when the caller gives up first, by deadline or cancellation.
    func begin(on reactor: Reactor, deadline: Duration?, whenAbandoned: @escaping () -> Void) {
        guard !isAnswered else { return }
        self.whenAbandoned = whenAbandoned
        guard let deadline else { return }
        timer = reactor.schedule(after: deadline) { [weak self] in
            self?.abandon(PostgresError(.deadline, "no answer within \(deadline)"))
        }
    }

    /// The caller does not wait any longer.
    func abandon(_ error: PostgresError) {
        guard !isAnswered else { return }
        let leave = whenAbandoned
        fail(isOutOfOurHands ? error.afterSending : error)
        leave()
    }

    /// Answers with an error, unless the caller has been answered.
    func fail(_ error: any Error) {
        settle { deliver(error) }
    }

    func settle(_ answer: () -> Void) {
        guard !isAnswered else { return }
        isAnswered = true
        timer?.cancel()
        timer = nil
        whenAbandoned = {}
        answer()
    }

    /// Passes the error to the caller.
    func deliver(_ error: any Error) {}
}

/// The suspended caller behind a ticket. A cancellation may come before he has been suspended.
struct Reply<Value: Sendable> {
    private var continuation: CheckedContinuation<Value, any Error>?
    private var early: Result<Value, any Error>?

    mutating func attach(_ continuation: CheckedContinuation<Value, any Error>) {
        if let early {
            continuation.resume(with: early)
        } else {
            self.continuation = continuation
        }
    }

    mutating func resume(with result: Result<Value, any Error>) {
        guard let continuation else {
            early = result
            return
        }
        self.continuation = nil
        continuation.resume(with: result)
    }
}

/// A ticket that is answered with a `Value`.
protocol Awaitable<Value>: PendingRequest {
    associatedtype Value: Sendable
    var reply: Reply<Value> { get set }
}

extension Awaitable {
    /// Suspends the caller until the ticket is answered.
    /// - Parameter admit: called on the reactor unless the caller gave up before.
    func answer(on reactor: Reactor, admit: @escaping @Sendable () -> Void) async throws -> Value {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                reactor.submit {
                    self.reply.attach(continuation)
                    if !self.isAnswered { admit() }
                }
            }
        } onCancel: {
            reactor.submit { self.abandon(PostgresError(.cancelled, "the task was cancelled")) }
        }
    }
}
