extension PoolMachine {
    struct Limits {
        var sharedConnections: Int
        /// Leased connections at the same time.
        var leases: Int
        /// Batches that wait, and as many requests for a lease.
        var waiters: Int
        /// Of these, batches of one affinity.
        var waitersPerAffinity: Int
        /// Batches outstanding on one shared connection.
        var pipelineDepth: Int
        /// No batch is sent to a connection whose oldest batch has run for this long.
        var staleHead: Duration
        /// An unused leased connection is closed after this time.
        var leaseIdle: Duration
    }

    struct ConnectionID: Hashable {
        let number: Int
    }

    struct RequestID: Hashable {
        let number: Int
    }

    /// Whether the database can be reached.
    enum Health: Equatable {
        /// No connection is open, and none has failed since the start or the loss of the last one. Requests wait.
        case connecting
        case reachable
        /// The last attempt failed and no connection is open. Requests are rejected.
        case unreachable
    }

    /// Why a request is not served.
    enum Rejection: Equatable {
        /// The database cannot be reached.
        case unavailable
        /// `Limits.waiters` requests are waiting already, or `Limits.waitersPerAffinity` with the same affinity.
        case poolExhausted
        case shutDown
    }

    /// What the pool must do.
    enum Action: Equatable {
        case connectShared(ConnectionID)
        case connectLease(ConnectionID)
        case close(ConnectionID)
        case send(RequestID, on: ConnectionID)
        case lend(ConnectionID, to: RequestID)
        case reject(RequestID, Rejection)
        /// Call `retryDue` after a back-off.
        case scheduleRetry
        /// Call `expireIdle` after the idle time.
        case scheduleExpiry
    }

    struct SharedConnection {
        let id: ConnectionID
        /// From 0. An affinity selects a slot; a connection that replaces a lost one gets its slot.
        let slot: Int
        var isOpen = false
        /// Takes no more batches, and is closed when its last one is answered.
        var isRetiring = false
        /// Batches that were sent and are not yet answered.
        var outstanding = 0
        /// Since when the oldest outstanding batch is at the head of the pipeline.
        var headSince: Instant

        var takesBatches: Bool { isOpen && !isRetiring }
    }

    /// The state of a leased connection.
    enum Lease: Equatable {
        case connecting
        case idle(since: Instant)
        case lent
    }
}
