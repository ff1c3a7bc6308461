import CoachCore

/// How to run the jobs of one kind. A job may run more than once, and concurrently on another instance after its lease was lost. So its
/// effect must be idempotent, by itself or by the job's idempotency key.
public struct JobHandler: Sendable {
    public let kind: JobKind
    /// How many jobs of the kind may run at once on this instance.
    let concurrency: Int
    /// A run that takes longer is cancelled and has failed.
    let timeLimit: Duration
    let run: @Sendable (Job) async throws -> Void

    /// - Parameters:
    ///   - payload: parses the job's payload. It returns nil when the payload is invalid; the job then fails for good.
    ///   - run: returns when the job is done. It must react to cancellation. Its errors are logged and stored with the job, so they must not contain user
    ///     data. After `JobRejected` the job fails for good; after another error it is tried again.
    public init<Payload: Sendable>(
        _ kind: JobKind, concurrency: Int, timeLimit: Duration = .seconds(600), payload: @escaping @Sendable (Job) -> Payload?,
        run: @escaping @Sendable (Payload) async throws -> Void
    ) {
        self.kind = kind
        self.concurrency = concurrency
        self.timeLimit = timeLimit
        self.run = { job in
            guard let parsed = payload(job) else { throw JobRejected("the payload is not one of this kind") }
            try await run(parsed)
        }
    }
}

/// Thrown by a handler for a job that cannot succeed, so that it is not tried again.
public struct JobRejected: Error, CustomStringConvertible {
    public let description: String
    public init(_ reason: String) { description = reason }
}
