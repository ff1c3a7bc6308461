import CoachCore

/// Runs the jobs of one kind. A job may be run more than once, also at the same time when its lease was lost: the effect must be idempotent, by
/// itself or by the job's idempotency key.
public struct JobHandler: Sendable {
    public let kind: JobKind
    /// How many jobs of the kind run at once on this instance.
    let concurrency: Int
    /// A run that takes longer is cancelled and counts as failed.
    let timeLimit: Duration
    let run: @Sendable (Job) async throws -> Void

    /// - Parameters:
    ///   - payload: parses the job; nil: it is not one of this kind, and is dead at once.
    ///   - run: returns when the job is done. What it throws is logged and kept with the job: no user data in it. `JobRejected` fails for good,
    ///     everything else is tried again. Heeds cancellation.
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

/// Thrown by a handler for a job that no further attempt can do.
public struct JobRejected: Error, CustomStringConvertible {
    public let description: String
    public init(_ reason: String) { description = reason }
}
