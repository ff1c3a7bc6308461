import Reactor

/// A caller that waits for the reactor. It is answered exactly once: with a result, by its deadline, or by its cancellation.
/// Belongs to the reactor's thread from the moment it was made (`ReactorBound`).
class PendingRequest {
    private(set) var isAnswered = false
    private var timer: TimerHandle?
    /// Called when the caller gives up before it is answered.
    var whenAbandoned: () -> Void = {}

    /// Whether the work may take effect although the caller gave up.
    var mayTakeEffect: Bool { false }

    /// Starts the deadline (nil: none). `whenAbandoned` is called when the deadline passes or the task is cancelled first.
    func begin(on reactor: Reactor, deadline: Duration?, whenAbandoned: @escaping () -> Void) {
        guard !isAnswered else { return }
        self.whenAbandoned = whenAbandoned
        guard let deadline else { return }
        timer = reactor.schedule(after: deadline) { [weak self] in
            self?.abandon(PostgresError(.deadline, "no answer within \(deadline)"))
        }
    }

    /// The caller gave up.
    func abandon(_ error: PostgresError) {
        guard !isAnswered else { return }
        let leave = whenAbandoned
        fail(mayTakeEffect ? error.afterSending : error)
        leave()
    }

    /// Answers with an error, unless the caller was answered before.
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

/// The continuation of a waiting task. A cancellation may come before it is suspended.
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

/// A request that is answered with a `Value`.
protocol Awaitable<Value>: PendingRequest {
    associatedtype Value: Sendable
    var reply: Reply<Value> { get set }
}

extension ReactorBound where Value: Awaitable {
    /// Suspends the task until the request is answered.
    /// - Parameter admit: called on the reactor's thread unless the task was cancelled before.
    func answer(admit: @escaping @Sendable (Value) -> Void) async throws -> Value.Value {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                submit { request in
                    request.reply.attach(continuation)
                    if !request.isAnswered { admit(request) }
                }
            }
        } onCancel: {
            submit { $0.abandon(PostgresError(.cancelled, "the task was cancelled")) }
        }
    }
}
