import Synchronization

/// Whether the database can be reached at present.
public enum PostgresStatus: Sendable {
    /// The first attempt is under way, or the last connection was just lost and no new attempt has failed yet.
    case connecting(since: ContinuousClock.Instant)
    case reachable(since: ContinuousClock.Instant)
    /// The last attempt failed. Callers fail at once until an attempt succeeds; the error is the reason.
    case unreachable(since: ContinuousClock.Instant, PostgresError)

    public var isReachable: Bool {
        if case .reachable = self { true } else { false }
    }
}

/// The status, set by the pool and read from any thread.
final class SharedStatus: Sendable {
    private let status: Mutex<PostgresStatus>

    init(_ status: PostgresStatus) { self.status = Mutex(status) }

    var value: PostgresStatus {
        get { status.withLock { $0 } }
        set { status.withLock { $0 = newValue } }
    }
}
