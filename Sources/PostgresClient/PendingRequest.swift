import Reactor

/// A call of a task that is suspended until the reactor answers it: exactly once, with a result, an error, or because its deadline passed
/// or its task was cancelled. Base class of batches and requests for a lease. Use only on the reactor's thread once it is in a
/// `ReactorBound`.
class PendingRequest {
    private(set) var isAnswered = false
    private var timer: TimerHandle?
    /// Called when the deadline passes or the task is cancelled before the answer.
    var whenAbandoned: () -> Void = {}

    /// Whether the work may take effect although the caller was given an error: it was sent.
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

    /// The deadline passed or the task was cancelled: answers with `error` and calls `whenAbandoned`.
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

    /// Runs `answer`, unless the caller was answered before.
    func settle(_ answer: () -> Void) {
        guard !isAnswered else { return }
        isAnswered = true
        timer?.cancel()
        timer = nil
        whenAbandoned = {}
        answer()
    }

    /// Resumes the caller with the error. Overridden by subclasses; called at most once, by `fail`.
    func deliver(_ error: any Error) {}
}

/// The continuation of a suspended task, or the result when that came first: a cancellation can come before the task is suspended.
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

/// A request whose caller can suspend until it is answered with a `Value`, by `ReactorBound.answer`.
protocol Awaitable<Value>: PendingRequest {
    associatedtype Value: Sendable
    var reply: Reply<Value> { get set }
}

extension ReactorBound where Value: Awaitable {
    /// Suspends the task until the request is answered.
    /// - Parameter admit: gives the request to the pool or connection. Called on the reactor's thread, unless the task was cancelled
    ///   before.
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
