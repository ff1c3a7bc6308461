import CLibPQ
import Reactor

/// One connection: drives libpq as `ConnectionMachine` and `PipelineQueue` decide. With its extensions, `ConnectionParameters` and `Rows` the
/// only place that calls libpq. Belongs to the reactor's thread; a `PGconn` tolerates no other.
final class Connection {
    /// Callbacks to the owner. None after `ended`.
    struct Events {
        var opened: () -> Void = {}
        var ended: (PostgresError) -> Void = { _ in }
        /// The batch has left the connection; nil: it is committed. The owner answers it. Batches that the end of the connection cuts off are
        /// answered by the connection.
        var answered: (Batch, PostgresError?) -> Void = { _, _ in }
        var notified: (_ channel: String, _ payload: String, _ processID: Int32) -> Void = { _, _, _ in }
    }

    /// The receiver of a group's results.
    enum Owner {
        case batch(Batch)
        /// A statement that was prepared ahead of the batch that needs it. A sync of its own keeps errors apart.
        case preparation(name: String)
        case deallocation
    }

    let reactor: Reactor
    var events: Events
    var machine = ConnectionMachine()
    var queue = PipelineQueue<Owner>()
    var cache = StatementCache(capacity: PostgresConfiguration.preparedStatements)
    let statementMode: PostgresConfiguration.StatementMode
    /// A libpq connection while there is one.
    var handle: OpaquePointer?
    /// The error of the group at the head of the queue.
    var headFailure: PostgresError?
    /// Why statements could not be prepared, for batches that were sent behind the preparation.
    var preparationFailures: [String: PostgresError] = [:]
    /// The script that runs instead of the pipeline.
    var script: Batch?
    var scriptFailure: PostgresError?
    var lastHeard = ContinuousClock.now
    /// What arrived is more than is taken at once.
    var drainsLater = false

    private let connectionString: String
    let configuration: PostgresConfiguration
    private let silenceLimit: Duration?
    let hosts: SharedHostRotation
    var parameters: ConnectionParameters?
    private var watch: Watch?
    /// When the round over the addresses must be over.
    var connectDeadline = ContinuousClock.now
    private var roundStart = 0
    var attemptFailures: [PostgresError] = []
    var attemptTimer: TimerHandle?
    private var silenceTimer: TimerHandle?

    /// - Parameters:
    ///   - hosts: shared by all connections with this connection string.
    ///   - silenceLimit: how long statements may be out without a word from the server; nil: for ever.
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
        statementMode = configuration.statements
    }

    deinit {
        // Only when it was never closed; it has no users then.
        if let handle { PQfinish(handle) }
    }

    /// Begins to connect; `opened` or `ended` follows.
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

    /// Closes the connection now. Outstanding batches fail with `unavailable`.
    func close() {
        perform(machine.end(.requested))
    }

    /// Nothing is outstanding and no transaction is open.
    var isClean: Bool {
        guard let handle, machine.state == .open else { return false }
        return queue.isEmpty && script == nil && PQtransactionStatus(handle) == PQTRANS_IDLE
    }

    /// Asks the server to stop what runs on this connection. Comes too late if it just ended: do not use the connection afterwards.
    func cancelRunning() {
        guard let handle, machine.state == .open, let cancel = PQgetCancel(handle) else { return }
        // SAFETY: a PGcancel is made to be used by another thread, and this is its only owner.
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

    /// Statements are outstanding: starts the silence limit.
    func expectAnswer() {
        guard let silenceLimit, silenceTimer == nil else { return }
        let remaining = silenceLimit - lastHeard.duration(to: .now)
        silenceTimer = reactor.schedule(after: remaining) { [weak self] in
            guard let self else { return }
            silenceTimer = nil
            guard !queue.isEmpty else { return }
            if lastHeard.duration(to: .now) < silenceLimit { expectAnswer() } else { perform(machine.end(.silent)) }
        }
    }

    private func finish(_ end: ConnectionMachine.End) {
        attemptTimer?.cancel()
        silenceTimer?.cancel()
        if end == .unreachable, let parameters { hosts.rotation.failed(roundFrom: roundStart, hosts: parameters.hosts.entries.count) }
        let error = error(for: end)
        dropHandle()
        for case .batch(let batch) in queue.removeAll() {
            // An error before the sync means that the server has rolled back; unless it was the error of its own end.
            if let headFailure, headFailure.sqlState?.hasPrefix("57P") != true {
                batch.fail(headFailure)
            } else {
                batch.fail(error.afterSending)
            }
            headFailure = nil
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
