import CLibPQ
import Reactor

/// One connection to a server: performs the libpq calls that `ConnectionMachine` and `PipelineQueue` decide. Use only on the reactor's
/// thread, because a `PGconn` is not thread-safe. Not reused: after `Events.ended` the owner makes a new one.
final class Connection {
    /// Callbacks to the owner, a pool or a listener, on the reactor's thread. None is called after `ended`.
    struct Events {
        var opened: () -> Void = {}
        var ended: (PostgresError) -> Void = { _ in }
        /// A batch ended: committed (nil), or failed and rolled back. The owner must answer the caller, or send the batch again. Not called
        /// for batches that are outstanding when the connection ends: those the connection itself fails.
        var answered: (Batch, PostgresError?) -> Void = { _, _ in }
        var notified: (_ channel: String, _ payload: String, _ processID: Int32) -> Void = { _, _, _ in }
    }

    /// What a group of the pipeline was sent for.
    enum Owner {
        case batch(Batch)
        /// Preparing a statement ahead of the batch that needs it. A group of its own, so that its error is not the batch's.
        case preparation(name: String)
        /// Deallocating an evicted or outdated statement.
        case deallocation
    }

    let reactor: Reactor
    var events: Events
    var machine = ConnectionMachine()
    var queue = PipelineQueue<Owner>()
    var cache = StatementCache(capacity: PostgresConfiguration.preparedStatements)
    /// The `PGconn` of the current attempt or open connection; nil otherwise.
    var handle: OpaquePointer?
    /// The first error of the group at the head of the queue.
    var headFailure: PostgresError?
    /// Why statements could not be prepared, by name: batches that were sent after the preparation fail with this error.
    var preparationFailures: [String: PostgresError] = [:]
    /// The script that runs, outside pipeline mode.
    var script: Batch?
    /// The first error of the script.
    var scriptFailure: PostgresError?
    /// When bytes last came from the server, or statements were sent on an idle connection. For the silence limit.
    var lastReceived = ContinuousClock.now
    /// Whether more results wait than are taken at once: `continueWork` is scheduled.
    var drainsLater = false

    private let connectionString: String
    let configuration: PostgresConfiguration
    private let silenceLimit: Duration?
    let hosts: SharedHostRotation
    var parameters: ConnectionParameters?
    private var watch: Watch?
    /// When connecting must have succeeded, over all addresses.
    var connectDeadline = ContinuousClock.now
    private var roundStart = 0
    var attemptFailures: [PostgresError] = []
    var attemptTimer: TimerHandle?
    private var silenceTimer: TimerHandle?

    /// - Parameters:
    ///   - hosts: shared by all connections with this connection string.
    ///   - silenceLimit: the connection ends when statements are outstanding and nothing is received for this long; nil: no limit.
    init(
        _ connectionString: String, _ configuration: PostgresConfiguration, hosts: SharedHostRotation, silenceLimit: Duration?,
        on reactor: Reactor, events: Events
    ) {
        self.hosts = hosts
        self.connectionString = connectionString
        self.configuration = configuration
        self.silenceLimit = silenceLimit
        self.reactor = reactor
        self.events = events
    }

    deinit {
        // Only a connection that was never closed still has a handle.
        if let handle { PQfinish(handle) }
    }

    /// Begins to connect; `Events.opened` or `ended` follows.
    func open() {
        connectDeadline = .now + configuration.connectTimeout
        parameters = ConnectionParameters(connectionString, configuration)
        guard let parameters else {
            attemptFailures = [
                PostgresError(.unavailable, "the connection string is not understood", connectionFailure: .connectionString)
            ]
            return perform(machine.end(.unreachable))
        }
        roundStart = hosts.rotation.first
        perform(machine.begin(hosts.rotation.targets(of: parameters.hosts, preferringStandby: parameters.prefersStandby)))
    }

    /// Closes the connection at once. Outstanding batches fail with `unavailable`; `Events.ended` follows.
    func close() {
        perform(machine.end(.requested))
    }

    /// Whether nothing is outstanding and no transaction is open.
    var isClean: Bool {
        guard let handle, machine.state == .open else { return false }
        return queue.isEmpty && script == nil && PQtransactionStatus(handle) == PQTRANS_IDLE
    }

    /// Asks the server to cancel the running statement. If that has just ended, the cancellation may hit the next one: do not use the
    /// connection afterwards.
    func cancelRunning() {
        guard let handle, machine.state == .open, let cancel = PQgetCancel(handle) else { return }
        // SAFETY: libpq allows a PGcancel on another thread, and this closure is its only owner.
        nonisolated(unsafe) let request = cancel
        let isRunning = HelperThread.run {
            var message = [CChar](repeating: 0, count: 256)
            PQcancel(request, &message, Int32(message.count))
            PQfreeCancel(request)
        }
        if !isRunning { PQfreeCancel(cancel) }
    }

    // MARK: Driving

    func perform(_ action: ConnectionMachine.Action) {
        switch action {
        case .none: break
        case .resolveHost(let target): resolveHost(target)
        case .startHandshake(let target): startHandshake(target)
        case .watchHandshake(let interest): watchAnew(interest)
        case .pollHandshake: pollHandshake()
        case .becomeOpen: becomeOpen()
        case .watch(let interest): if let watch { reactor.update(watch, interest) }
        case .consumeInput: consumeInput()
        case .flushOutput: flush()
        case .end(let end): finish(end)
        }
    }

    private func becomeOpen() {
        attemptTimer?.cancel()
        if let target = machine.current { hosts.rotation.succeeded(target) }
        PQsetErrorVerbosity(handle, PQERRORS_DEFAULT)
        PQsetnonblocking(handle, 1)
        guard PQenterPipelineMode(handle) == 1 else { return perform(machine.end(.violation)) }
        watchAnew(.read)
        events.opened()
    }

    /// Replaces the watch, because libpq may have opened another socket.
    func watchAnew(_ interest: Interest) {
        if let watch { reactor.unwatch(watch) }
        watch = try? reactor.watch(PQsocket(handle), interest) { [weak self] readiness in
            guard let self else { return }
            perform(machine.ready(readiness))
        }
        if watch == nil { perform(machine.end(.lost)) }
    }

    func flush() {
        switch PQflush(handle) {
        case 0: perform(machine.flushed(.done))
        case 1: perform(machine.flushed(.pending))
        default:
            // Results that arrived before the write failed are still delivered.
            PQconsumeInput(handle)
            drain()
            perform(machine.flushed(.failed))
        }
    }

    /// Starts the silence limit, unless it is running. Called when statements were sent.
    func expectAnswer() {
        guard let silenceLimit, silenceTimer == nil else { return }
        let remaining = silenceLimit - lastReceived.duration(to: .now)
        silenceTimer = reactor.schedule(after: remaining) { [weak self] in
            guard let self else { return }
            silenceTimer = nil
            guard !queue.isEmpty else { return }
            if lastReceived.duration(to: .now) < silenceLimit { expectAnswer() } else { perform(machine.end(.silent)) }
        }
    }

    private func finish(_ end: ConnectionMachine.End) {
        attemptTimer?.cancel()
        silenceTimer?.cancel()
        if end == .unreachable, let parameters { hosts.rotation.failed(roundFrom: roundStart, hosts: parameters.hosts.entries.count) }
        let error = error(for: end)
        dropHandle()
        // After an error result of the group at the head the server has rolled it back, so nothing of it took effect. Class 57P is the server's
        // own shutdown, whose effect on the group is unknown.
        var failureOfHead = headFailure?.sqlState?.hasPrefix("57P") == true ? nil : headFailure
        headFailure = nil
        for owner in queue.removeAll() {
            if case .batch(let batch) = owner { batch.fail(failureOfHead ?? error.afterSending) }
            // Says nothing of the groups behind, also when the one at the head prepares a statement.
            failureOfHead = nil
        }
        script?.fail(error.afterSending)
        script = nil
        let ended = events.ended
        events = Events()
        ended(error)
    }

    func dropHandle() {
        if let watch { reactor.unwatch(watch) }
        watch = nil
        PQfinish(handle)
        handle = nil
    }

    private func error(for end: ConnectionMachine.End) -> PostgresError {
        switch end {
        case .unreachable: PostgresError(round: attemptFailures)
        case .lost: PostgresError(.unavailable, "the connection was lost")
        case .silent: PostgresError(.unavailable, "the server has fallen silent")
        case .violation: PostgresError(.protocolViolation, "the server or the statement broke the protocol of the pipeline")
        case .requested: PostgresError(.unavailable, "the connection was closed")
        }
    }
}
