extension PoolMachine {
    struct Limits {
        var sharedConnections: Int
        var leases: Int
        var waiters: Int
        var pipelineDepth: Int
        var staleHead: Duration
        var leaseIdle: Duration
    }

    struct ConnectionID: Hashable {
        let number: Int
    }

    struct RequestID: Hashable {
        let number: Int
    }

    enum Health: Equatable {
        case connecting
        case reachable
        case unreachable
    }

    enum Rejection: Equatable {
        case unavailable
        case poolExhausted
        case shutDown
    }

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
        /// Affinities select a slot; a connection that replaces a lost one takes its slot.
        let slot: Int
        var isOpen = false
        var outstanding = 0
        /// When the oldest outstanding batch became the oldest.
        var headSince: Instant
    }

    enum Lease: Equatable {
        case connecting
        case idle(since: Instant)
        case lent
    }
}
