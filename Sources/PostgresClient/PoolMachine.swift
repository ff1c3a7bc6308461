/// The state machine of the pool: assigns requests to connections, and decides when connections are opened and closed. Pure: time is an
/// argument, and every input returns the actions to perform.
///
/// A batch without an affinity goes to the shared connection with the fewest outstanding batches. A batch with an affinity goes to the
/// shared connection of its slot, or, while that one is not open, to the next open one, so batches of one affinity never occupy more than
/// one connection, nor more than `Limits.waitersPerAffinity` of the places to wait. No batch is sent to a connection whose oldest batch has
/// run for `Limits.staleHead`: it waits here until that connection makes progress. A leased connection is used by one caller at a time and
/// is opened on demand.
///
/// While the database is unreachable, one connection at a time is tried and requests fail at once. Between the loss of the last connection
/// and the first failed attempt requests wait, usually for a few milliseconds.
struct PoolMachine {
    typealias Instant = ContinuousClock.Instant

    private let limits: Limits
    private(set) var health = Health.connecting
    private(set) var healthSince: Instant
    private var sharedConnections: [SharedConnection] = []
    private var leases: [ConnectionID: Lease] = [:]
    private var waitingBatches: WaitingBatches
    private var waitingLeases = WaiterQueue<RequestID>()
    private var isRetryScheduled = false
    private var isShutDown = false
    private var lastConnection = 0

    init(limits: Limits, now: Instant) {
        self.limits = limits
        healthSince = now
        waitingBatches = WaitingBatches(slots: limits.sharedConnections)
    }

    var connectionCount: Int { sharedConnections.count + leases.count }
    var waitingBatchCount: Int { waitingBatches.count }
    /// Connections with work, and requests that wait for one.
    var load: (inUse: Int, waiting: Int) {
        (
            sharedConnections.count { $0.outstanding > 0 } + leases.values.count { $0 == .lent },
            waitingBatchCount + waitingLeases.count
        )
    }

    mutating func start(now: Instant) -> [Action] {
        connectMissing(now: now)
    }

    // MARK: Batches

    /// - Parameter affinity: selects the shared connection; nil: any.
    mutating func batchArrived(_ request: RequestID, affinity: UInt64? = nil, now: Instant) -> [Action] {
        if let rejection = rejection { return [.reject(request, rejection)] }
        guard limits.sharedConnections > 0 else { return [.reject(request, .poolExhausted)] }
        let queue = waitingBatches.queue(of: affinity)
        if waitingBatches.isEmpty(queue), let index = sharedIndex(for: queue, now: now) { return [send(request, to: index, now: now)] }
        guard waitingBatchCount < limits.waiters, waitingBatches.count(of: affinity) < limits.waitersPerAffinity else {
            return [.reject(request, .poolExhausted)]
        }
        waitingBatches.append(request, affinity: affinity)
        return []
    }

    /// The oldest batch on a shared connection ended.
    mutating func batchEnded(on id: ConnectionID, now: Instant) -> [Action] {
        guard let index = sharedIndex(of: id) else { return [] }
        sharedConnections[index].outstanding -= 1
        sharedConnections[index].headSince = now
        let isLast = isShutDown || sharedConnections[index].isRetiring
        if isLast, sharedConnections[index].outstanding == 0 { return [.close(id)] }
        return sendWaiting(now: now)
    }

    // MARK: Leases

    mutating func leaseRequested(_ request: RequestID, now: Instant) -> [Action] {
        if let rejection = rejection { return [.reject(request, rejection)] }
        if waitingLeases.isEmpty, let idle = idleLease() { return [lend(idle, to: request)] }
        guard waitingLeases.count < limits.waiters else { return [.reject(request, .poolExhausted)] }
        waitingLeases.append(request)
        return connectForWaitingLeases()
    }

    /// A caller returned a leased connection; one that is not `reusable` is closed.
    mutating func leaseReturned(_ id: ConnectionID, reusable: Bool, now: Instant) -> [Action] {
        guard leases[id] == .lent else { return [] }
        guard reusable, !isShutDown else { return [.close(id)] }
        leases[id] = .idle(since: now)
        guard let request = waitingLeases.next() else { return [.scheduleExpiry] }
        return [lend(id, to: request)]
    }

    mutating func expireIdle(now: Instant) -> [Action] {
        leases.compactMap { id, lease in
            if case .idle(let since) = lease, now - since >= limits.leaseIdle { .close(id) } else { nil }
        }
    }

    // MARK: Both

    /// A waiting caller gave up. No effect on a request that is not waiting.
    mutating func withdraw(_ request: RequestID) {
        if !waitingBatches.remove(request) { waitingLeases.remove(request) }
    }

    // MARK: Connections

    mutating func opened(_ id: ConnectionID, now: Instant) -> [Action] {
        if isShutDown { return [.close(id)] }
        change(to: .reachable, now: now)
        var actions: [Action] = []
        if let index = sharedIndex(of: id) {
            sharedConnections[index].isOpen = true
            actions += sendWaiting(now: now)
        } else if leases[id] == .connecting {
            leases[id] = .idle(since: now)
            if let request = waitingLeases.next() { actions.append(lend(id, to: request)) } else { actions.append(.scheduleExpiry) }
        }
        return actions + (isRetryScheduled ? [] : connectMissing(now: now))
    }

    /// A connection ended, for any reason; its batches were answered before.
    mutating func closed(_ id: ConnectionID, now: Instant) -> [Action] {
        let wasOpen: Bool
        if let index = sharedIndex(of: id) {
            wasOpen = sharedConnections.remove(at: index).isOpen
        } else if let lease = leases.removeValue(forKey: id) {
            wasOpen = lease != .connecting
        } else {
            return []
        }
        guard !isShutDown else { return [] }
        var actions: [Action] = []
        switch (wasOpen, isServing) {
        // Other connections are open: they take the requests that waited for this one.
        case (true, true): actions = sendWaiting(now: now)
        case (true, false): if limits.sharedConnections > 0, health == .reachable { change(to: .connecting, now: now) }
        case (false, false):
            change(to: .unreachable, now: now)
            actions = rejectWaiting(.unavailable)
        case (false, true):
            // Other connections are open, but this attempt failed, for instance because the server has too many connections.
            if leases.isEmpty { actions = Self.reject(waitingLeases.removeAll(), .unavailable) }
        }
        let isNeeded = sharedConnections.count < limits.sharedConnections || !waitingLeases.isEmpty
        if isNeeded, !isRetryScheduled {
            isRetryScheduled = true
            actions.append(.scheduleRetry)
        }
        return actions
    }

    /// The answer to a batch shows that the session is of no use: it is to be replaced when the outstanding batches are answered, or at once when it is
    /// leased and has one caller. Call before `batchEnded`.
    mutating func retire(_ id: ConnectionID) -> [Action] {
        guard let index = sharedIndex(of: id) else { return [.close(id)] }
        sharedConnections[index].isRetiring = true
        return []
    }

    mutating func retryDue(now: Instant) -> [Action] {
        isRetryScheduled = false
        return isShutDown ? [] : connectMissing(now: now)
    }

    // MARK: Shutdown

    /// Rejects new requests. Connections close when their work is done; `connectionCount` is 0 when all are closed.
    mutating func shutDown(now: Instant) -> [Action] {
        isShutDown = true
        return rejectWaiting(.shutDown)
            + sharedConnections.filter { $0.outstanding == 0 }.map { .close($0.id) }
            + leases.filter { $0.value != .lent }.map { .close($0.key) }
    }

    func isShared(_ id: ConnectionID) -> Bool { sharedIndex(of: id) != nil }

    // MARK: Private

    private func sharedIndex(of id: ConnectionID) -> Int? { sharedConnections.firstIndex { $0.id == id } }

    private var rejection: Rejection? {
        if isShutDown { return .shutDown }
        // Without shared connections no retry is scheduled; each request must try to connect.
        return health == .unreachable && limits.sharedConnections > 0 ? .unavailable : nil
    }

    /// Whether a connection is known to work. An open leased one counts only without shared connections: an idle one may be broken
    /// unnoticed.
    private var isServing: Bool {
        limits.sharedConnections > 0 ? sharedConnections.contains(where: \.isOpen) : leases.values.contains { $0 != .connecting }
    }

    /// The index of the shared connection for the next batch of a queue; nil when the batch must wait.
    private func sharedIndex(for queue: Int, now: Instant) -> Int? {
        guard queue < limits.sharedConnections else {
            return sharedConnections.indices.filter { mayTake(sharedConnections[$0], now: now) }.min {
                sharedConnections[$0].outstanding < sharedConnections[$1].outstanding
            }
        }
        func distance(_ sharedConnection: SharedConnection) -> Int {
            (sharedConnection.slot - queue + limits.sharedConnections) % limits.sharedConnections
        }
        let nearest = sharedConnections.indices.filter { sharedConnections[$0].takesBatches }.min {
            distance(sharedConnections[$0]) < distance(sharedConnections[$1])
        }
        return nearest.flatMap { mayTake(sharedConnections[$0], now: now) ? $0 : nil }
    }

    private func mayTake(_ sharedConnection: SharedConnection, now: Instant) -> Bool {
        let isStale = sharedConnection.outstanding > 0 && now - sharedConnection.headSince >= limits.staleHead
        return sharedConnection.takesBatches && !isStale && sharedConnection.outstanding < limits.pipelineDepth
    }

    private mutating func send(_ request: RequestID, to index: Int, now: Instant) -> Action {
        if sharedConnections[index].outstanding == 0 { sharedConnections[index].headSince = now }
        sharedConnections[index].outstanding += 1
        return .send(request, on: sharedConnections[index].id)
    }

    /// Sends the waiting batches for which a connection is free, oldest first over all queues.
    private mutating func sendWaiting(now: Instant) -> [Action] {
        var actions: [Action] = []
        while true {
            let ready = waitingBatches.heads.compactMap { head -> (request: RequestID, queue: Int, index: Int)? in
                sharedIndex(for: head.queue, now: now).map { (request: head.request, queue: head.queue, index: $0) }
            }
            guard let next = ready.min(by: { $0.request.number < $1.request.number }) else { return actions }
            waitingBatches.removeFirst(of: next.queue)
            actions.append(send(next.request, to: next.index, now: now))
        }
    }

    private func idleLease() -> ConnectionID? {
        leases.first { if case .idle = $0.value { true } else { false } }?.key
    }

    private mutating func lend(_ id: ConnectionID, to request: RequestID) -> Action {
        leases[id] = .lent
        return .lend(id, to: request)
    }

    private mutating func connectMissing(now: Instant) -> [Action] {
        guard health != .unreachable || limits.sharedConnections == 0 else {
            // One probe: when it succeeds, `opened` connects the others.
            let isTrying = sharedConnections.contains { !$0.isOpen } || leases.values.contains(.connecting)
            return isTrying ? [] : [connectShared(now: now)]
        }
        var actions: [Action] = []
        while sharedConnections.count < limits.sharedConnections { actions.append(connectShared(now: now)) }
        return actions + connectForWaitingLeases()
    }

    private mutating func connectForWaitingLeases() -> [Action] {
        var actions: [Action] = []
        var connecting = leases.values.count { $0 == .connecting }
        while leases.count < limits.leases, connecting < waitingLeases.count {
            let id = nextConnection()
            leases[id] = .connecting
            connecting += 1
            actions.append(.connectLease(id))
        }
        return actions
    }

    private mutating func connectShared(now: Instant) -> Action {
        let id = nextConnection()
        let slot = (0..<limits.sharedConnections).first { slot in !sharedConnections.contains { $0.slot == slot } } ?? 0
        sharedConnections.append(SharedConnection(id: id, slot: slot, headSince: now))
        return .connectShared(id)
    }

    private mutating func nextConnection() -> ConnectionID {
        lastConnection += 1
        return ConnectionID(number: lastConnection)
    }

    private mutating func rejectWaiting(_ rejection: Rejection) -> [Action] {
        Self.reject(waitingBatches.removeAll() + waitingLeases.removeAll(), rejection)
    }

    private static func reject(_ requests: [RequestID], _ rejection: Rejection) -> [Action] {
        requests.map { .reject($0, rejection) }
    }

    private mutating func change(to new: Health, now: Instant) {
        guard health != new else { return }
        health = new
        healthSince = now
    }
}
