import Reactor

/// The connection pool: owns connections, listeners and pending requests, and performs what `PoolMachine` decides. Use only on the
/// reactor's thread.
final class Pool {
    private let reactor: Reactor
    private let configuration: PostgresConfiguration
    private let status: SharedStatus
    private var machine: PoolMachine
    private var connections: [PoolMachine.ConnectionID: Connection] = [:]
    private var batches: [PoolMachine.RequestID: Batch] = [:]
    private var leases: [PoolMachine.RequestID: PendingLease] = [:]
    private var listeners: [ObjectIdentifier: Listener] = [:]
    private let hosts = SharedHostRotation()
    private var lastRequest = 0
    private var backoff = Backoff()
    private var openSince: [PoolMachine.ConnectionID: ContinuousClock.Instant] = [:]
    private var lastError = PostgresError(.unavailable, "not connected yet")
    private var isStarted = false
    private var isShutDown = false
    private var whenEmpty: [() -> Void] = []

    init(_ configuration: PostgresConfiguration, on reactor: Reactor, status: SharedStatus) {
        self.configuration = configuration
        self.reactor = reactor
        self.status = status
        let limits = PoolMachine.Limits(
            sharedConnections: configuration.sharedConnections, leases: configuration.maximumLeases, waiters: configuration.maximumWaiters,
            waitersPerAffinity: configuration.waitersPerAffinity, pipelineDepth: PostgresConfiguration.pipelineDepth,
            staleHead: PostgresConfiguration.staleHead, leaseIdle: configuration.leaseIdleTimeout)
        machine = PoolMachine(limits: limits, now: .now)
    }

    // MARK: Start and shutdown

    func start() {
        guard !isStarted else { return }
        isStarted = true
        perform(machine.start(now: .now))
    }

    /// Rejects new requests, closes connections when their work ends and all of them after `grace`, then calls `whenDone`.
    func shutDown(grace: Duration, whenDone: @escaping () -> Void) {
        whenEmpty.append(whenDone)
        if !isShutDown {
            isShutDown = true
            for listener in listeners.values { listener.stop() }
            perform(machine.shutDown(now: .now))
            reactor.schedule(after: grace) { [weak self] in
                guard let self else { return }
                for connection in connections.values { connection.close() }
            }
        }
        announceIfEmpty()
    }

    private func announceIfEmpty() {
        guard isShutDown, machine.connectionCount == 0 else { return }
        let waiting = whenEmpty
        whenEmpty = []
        for body in waiting { body() }
    }

    // MARK: Work

    func admit(_ batch: Batch, deadline: Duration) {
        let request = nextRequest()
        batch.begin(on: reactor, deadline: deadline) { [weak self] in self?.withdraw(request) }
        batches[request] = batch
        perform(machine.batchArrived(request, affinity: batch.affinity, now: .now))
    }

    func admit(_ pending: PendingLease, deadline: Duration) {
        let request = nextRequest()
        pending.begin(on: reactor, deadline: deadline) { [weak self] in self?.withdraw(request) }
        leases[request] = pending
        perform(machine.leaseRequested(request, now: .now))
    }

    /// Resets the session of a returned lease for the next caller, or closes its connection.
    func takeBack(_ leased: LeasedConnection) {
        guard !leased.isReturned else { return }
        leased.isReturned = true
        guard !leased.isTainted, leased.connection.isClean else {
            return perform(machine.leaseReturned(leased.id, reusable: false, now: .now))
        }
        let reset = SessionReset { [weak self] isClean in
            guard let self else { return }
            perform(machine.leaseReturned(leased.id, reusable: isClean, now: .now))
        }
        // Leases have no silence limit: without a deadline a server that hangs would keep the place of the lease for ever.
        reset.begin(on: reactor, deadline: configuration.defaultDeadline) {}
        leased.connection.send(reset)
    }

    func listen(_ listener: Listener) {
        guard !isShutDown else { return listener.stop() }
        listeners[ObjectIdentifier(listener)] = listener
        listener.start { [weak self] in self?.listeners[ObjectIdentifier(listener)] = nil }
    }

    private func withdraw(_ request: PoolMachine.RequestID) {
        batches[request] = nil
        leases[request] = nil
        machine.withdraw(request)
    }

    private func nextRequest() -> PoolMachine.RequestID {
        lastRequest += 1
        return PoolMachine.RequestID(number: lastRequest)
    }

    // MARK: Driving

    private func perform(_ actions: [PoolMachine.Action]) {
        for action in actions { perform(action) }
    }

    private func perform(_ action: PoolMachine.Action) {
        switch action {
        case .connectShared(let id):
            connect(id, silenceLimit: configuration.silenceLimit)
        case .connectLease(let id):
            // No silence limit, because a script may run for any time.
            connect(id, silenceLimit: nil)
        case .close(let id):
            connections[id]?.close()
        // An earlier action of the same list can have ended the connection: `Connection.send` finds that it is lost. Then the machine is asked again.
        case .send(let request, let id):
            guard let batch = batches[request] else { return }
            guard let connection = connections[id] else {
                return perform(machine.batchArrived(request, affinity: batch.affinity, now: .now))
            }
            batches[request] = nil
            connection.send(batch)
        case .lend(let id, let request):
            guard let pending = leases[request] else { return }
            guard let connection = connections[id] else { return perform(machine.leaseRequested(request, now: .now)) }
            leases[request] = nil
            pending.succeed(Lease(LeasedConnection(id, connection), on: reactor, defaultDeadline: configuration.defaultDeadline))
        case .reject(let request, let rejection):
            let pending: PendingRequest? = batches.removeValue(forKey: request) ?? leases.removeValue(forKey: request)
            pending?.fail(error(for: rejection))
        case .scheduleRetry:
            reactor.schedule(after: backoff.next(random: .random(in: 0...1))) { [weak self] in
                guard let self else { return }
                perform(machine.retryDue(now: .now))
            }
        case .scheduleExpiry:
            reactor.schedule(after: configuration.leaseIdleTimeout) { [weak self] in
                guard let self else { return }
                perform(machine.expireIdle(now: .now))
            }
        }
    }

    private func connect(_ id: PoolMachine.ConnectionID, silenceLimit: Duration?) {
        var events = Connection.Events()
        events.opened = { [weak self] in self?.opened(id) }
        events.ended = { [weak self] error in self?.ended(id, error) }
        events.answered = { [weak self] batch, error in self?.answered(id, batch, error) }
        let connection = Connection(
            configuration.connectionString, configuration, hosts: hosts, silenceLimit: silenceLimit, on: reactor, events: events)
        connections[id] = connection
        connection.open()
    }

    private func opened(_ id: PoolMachine.ConnectionID) {
        openSince[id] = .now
        let actions = machine.opened(id, now: .now)
        publishStatus()
        perform(actions)
    }

    private func ended(_ id: PoolMachine.ConnectionID, _ error: PostgresError) {
        lastError = error
        connections[id] = nil
        // A connection that the server closed soon after accepting it does not reset the back-off.
        if isLongOpen(id) { backoff.reset() }
        openSince[id] = nil
        let actions = machine.closed(id, now: .now)
        publishStatus()
        perform(actions)
        announceIfEmpty()
    }

    private func answered(_ id: PoolMachine.ConnectionID, _ batch: Batch, _ error: PostgresError?) {
        let isReplaced = error?.isReadOnlyTransaction == true && isLongOpen(id)
        if isReplaced { perform(machine.retire(id)) }
        // The server rolled the whole batch back, so sending it again is safe.
        if let error, isReplaced || error.isOutdatedStatement, batch.retriesLeft > 0, !batch.isAnswered, machine.isShared(id) {
            // Not counted when the session is replaced: it meets each of them once, and a young one's error ends it.
            if !isReplaced { batch.retriesLeft -= 1 }
            batch.wasSent = false
            perform(machine.batchEnded(on: id, now: .now))
            let request = nextRequest()
            batches[request] = batch
            batch.whenAbandoned = { [weak self] in self?.withdraw(request) }
            return perform(machine.batchArrived(request, affinity: batch.affinity, now: .now))
        }
        if let error { batch.fail(error) } else { batch.succeed() }
        perform(machine.batchEnded(on: id, now: .now))
    }

    /// Whether a session has lasted longer than one that the server closes soon after it began. One that only reads is replaced then: the next may reach the
    /// primary, or begin under another setting. A young one stays, so that statements are answered at once while all sessions are of that kind.
    private func isLongOpen(_ id: PoolMachine.ConnectionID) -> Bool {
        openSince[id].map { $0.duration(to: .now) > Backoff.stableAfter } ?? false
    }

    /// `asked`: when the reading was submitted.
    func load(since asked: ContinuousClock.Instant) -> PostgresLoad {
        let load = machine.load
        return PostgresLoad(
            connections: openSince.count, connectionsInUse: load.inUse, waitingRequests: load.waiting, reactorLag: asked.duration(to: .now))
    }

    private func publishStatus() {
        let since = machine.healthSince
        status.value =
            switch machine.health {
            case .connecting: .connecting(since: since)
            case .reachable: .reachable(since: since)
            case .unreachable: .unreachable(since: since, lastError)
            }
    }

    private func error(for rejection: PoolMachine.Rejection) -> PostgresError {
        switch rejection {
        case .unavailable:
            PostgresError(
                .unavailable, lastError.message, sqlState: lastError.sqlState, connectionFailure: lastError.connectionFailure)
        case .poolExhausted:
            PostgresError(
                .poolExhausted,
                "\(configuration.maximumWaiters) callers are waiting already, or \(configuration.waitersPerAffinity) with this affinity")
        case .shutDown: PostgresError(.unavailable, "the client was shut down")
        }
    }
}
