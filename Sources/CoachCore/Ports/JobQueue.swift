import JSON

/// Port to the durable queue of work after requests. A job is run at least once, by any instance; SQL functions enqueue one in the transaction of
/// its cause. `CoachStore` implements it on PostgreSQL. Every closure throws `StoreFault`.
public struct JobQueue: Sendable {
    /// Enqueues a job that no SQL function causes. Returns nil when a job with its idempotency key waits or was done.
    public var enqueue: @Sendable (NewJob) async throws -> JobID?
    /// Records how runs ended and takes due jobs, at most so many of each kind, under a lease: one round trip, one transaction. Recording the same
    /// run again has no effect. Jobs whose answer is lost on the way become due again when their lease expires.
    public var exchange: @Sendable (_ ended: [EndedRun], _ wanted: [JobKind: Int], _ lease: Duration) async throws -> [Job]
    /// Extends leases. Returns the jobs that are still held; another instance may run the others.
    public var renew: @Sendable (_ held: [JobRun], _ lease: Duration) async throws -> Set<JobID>
    /// What waits and what is dead, of each kind that has any. Reads all jobs.
    public var figures: @Sendable () async throws -> [JobFigures]

    public init(
        enqueue: @escaping @Sendable (NewJob) async throws -> JobID?,
        exchange: @escaping @Sendable (_ ended: [EndedRun], _ wanted: [JobKind: Int], _ lease: Duration) async throws -> [Job],
        renew: @escaping @Sendable (_ held: [JobRun], _ lease: Duration) async throws -> Set<JobID>,
        figures: @escaping @Sendable () async throws -> [JobFigures]
    ) {
        self.enqueue = enqueue
        self.exchange = exchange
        self.renew = renew
        self.figures = figures
    }
}

/// Names a handler, in the database and in metrics.
public struct JobKind: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    public var description: String { rawValue }
}

/// The number of a job in the durable queue.
public struct JobID: Hashable, Sendable, CustomStringConvertible {
    public let raw: Int64
    public init(_ raw: Int64) { self.raw = raw }
    public var description: String { "\(raw)" }
}

/// Input of `enqueue`.
public struct NewJob: Sendable, Equatable {
    public var kind: JobKind
    /// nil: the job is not a user's.
    public var userID: UserID?
    public var payload: JSONValue
    /// A key that was used for this user and kind within the last days enqueues nothing. nil: enqueues in any case.
    public var idempotencyKey: String?
    /// Until the first run, from the enqueuing on.
    public var delay: Duration

    public init(
        _ kind: JobKind, userID: UserID? = nil, payload: JSONValue = .object([]), idempotencyKey: String? = nil, delay: Duration = .zero
    ) {
        self.kind = kind
        self.userID = userID
        self.payload = payload
        self.idempotencyKey = idempotencyKey
        self.delay = delay
    }
}

/// One run of a job, distinct from every other run of it.
public struct JobRun: Sendable, Hashable {
    public var id: JobID
    /// From 1.
    public var attempt: Int

    public init(id: JobID, attempt: Int) {
        self.id = id
        self.attempt = attempt
    }
}

/// A job that was taken to be run.
public struct Job: Sendable, Equatable {
    public var run: JobRun
    /// If this run fails the job is dead.
    public var isLastAttempt: Bool
    public var userID: UserID?
    public var kind: JobKind
    public var payload: JSONValue
    /// The same for every run of the job.
    public var idempotencyKey: String?

    public init(run: JobRun, isLastAttempt: Bool, userID: UserID?, kind: JobKind, payload: JSONValue, idempotencyKey: String?) {
        self.run = run
        self.isLastAttempt = isLastAttempt
        self.userID = userID
        self.kind = kind
        self.payload = payload
        self.idempotencyKey = idempotencyKey
    }
}

/// How a run ended.
public struct EndedRun: Sendable, Equatable {
    public enum Result: Sendable, Equatable {
        case done
        /// Failed; the next attempt begins after a pause.
        case retry(after: Duration, reason: String)
        /// Failed for good.
        case dead(reason: String)
        /// Broken off because this instance ends. It does not count as an attempt.
        case returned
    }

    public var run: JobRun
    public var result: Result

    public init(run: JobRun, result: Result) {
        self.run = run
        self.result = result
    }
}

/// Jobs of one kind.
public struct JobFigures: Sendable, Equatable {
    public var kind: JobKind
    /// Due, and not running.
    public var ready: Int
    public var dead: Int
    /// For how long the oldest that is ready has been due.
    public var oldest: Duration
    /// How long ago the oldest was enqueued of those that are due, run, or failed and wait for their next attempt.
    public var age: Duration

    public init(kind: JobKind, ready: Int, dead: Int, oldest: Duration, age: Duration) {
        self.kind = kind
        self.ready = ready
        self.dead = dead
        self.oldest = oldest
        self.age = age
    }
}
