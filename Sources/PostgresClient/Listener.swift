import Reactor

/// An event of `PostgresClient.listen`.
public enum ListenEvent: Sendable, Hashable {
    /// LISTEN is active, for the first time or again. Notifications may have been lost before this: read the current state again.
    case connected
    case notification(channel: String, payload: String, processID: Int32)
    /// The connection was lost. It is opened again automatically; `connected` follows.
    case disconnected
    /// No connection can be opened, or LISTEN is refused. Once for each kind of failure until the next `connected`; the attempts go on.
    case failed(PostgresError)
}

/// Keeps one connection open for LISTEN, reconnects it, and writes its events to a stream until the stream is no longer read. Use only on
/// the reactor's thread.
final class Listener {
    /// The interval of `select 1`. A server that no longer answers is detected after this plus the silence limit.
    private static let heartbeat = Duration.seconds(10)
    /// Events buffered for a slow reader. When more arrive, the oldest are dropped and `connected` is added, because notifications were
    /// lost.
    static let bufferedEvents = 4096

    private let reactor: Reactor
    private let configuration: PostgresConfiguration
    private let statements: [EncodedQuery]
    private let stream: AsyncStream<ListenEvent>.Continuation
    private let hosts = SharedHostRotation()
    private var connection: Connection?
    private var listeningSince: ContinuousClock.Instant?
    private var isStopped = false
    private var backoff = Backoff()
    /// Why the server rejected a statement, after which the connection is closed.
    private var rejection: PostgresError?
    /// The kinds of failure that were reported since the last `connected`.
    private var reported: Set<ConnectionFailure?> = []
    private var timer: TimerHandle?
    private var whenStopped: () -> Void = {}

    init(
        _ channels: [String], _ configuration: PostgresConfiguration, on reactor: Reactor, stream: AsyncStream<ListenEvent>.Continuation
    ) {
        self.configuration = configuration
        self.reactor = reactor
        self.stream = stream
        // Encoding fails only for a name with U+0000, which cannot be a channel.
        statements = channels.compactMap { try? EncodedQuery("listen \(identifier: $0)") }
    }

    func start(whenStopped: @escaping () -> Void) {
        self.whenStopped = whenStopped
        if isStopped { whenStopped() } else { connect() }
    }

    func stop() {
        guard !isStopped else { return }
        isStopped = true
        timer?.cancel()
        connection?.close()
        stream.finish()
        whenStopped()
        whenStopped = {}
    }

    private func connect() {
        var events = Connection.Events()
        events.opened = { [weak self] in self?.opened() }
        events.ended = { [weak self] error in self?.ended(error) }
        events.answered = { batch, error in
            if let error { batch.fail(error) } else { batch.succeed() }
        }
        events.notified = { [weak self] channel, payload, processID in
            self?.emit(.notification(channel: channel, payload: payload, processID: processID))
        }
        connection = Connection(
            configuration.listenConnectionString ?? configuration.connectionString, configuration, hosts: hosts,
            silenceLimit: configuration.silenceLimit, on: reactor, events: events)
        connection?.open()
    }

    private func opened() {
        send(statements) { [weak self] in
            guard let self else { return }
            listeningSince = .now
            reported = []
            emit(.connected)
            scheduleHeartbeat()
        }
    }

    /// Sends statements. If one fails, the connection is closed and opened again.
    private func send(_ queries: [EncodedQuery], whenDone: @escaping () -> Void) {
        guard !queries.isEmpty else { return whenDone() }
        connection?.send(
            Probe(queries) { [weak self] error in
                guard let error else { return whenDone() }
                self?.rejection = error as? PostgresError
                self?.connection?.close()
            })
    }

    private func scheduleHeartbeat() {
        timer = reactor.schedule(after: Self.heartbeat) { [weak self] in
            guard let self, let query = try? EncodedQuery("select 1") else { return }
            send([query]) { self.scheduleHeartbeat() }
        }
    }

    private func ended(_ error: PostgresError) {
        connection = nil
        let reason = rejection.take() ?? error
        timer?.cancel()
        guard !isStopped else { return }
        if let since = listeningSince {
            listeningSince = nil
            if since.duration(to: .now) > Backoff.stableAfter { backoff.reset() }
            emit(.disconnected)
        } else if reported.insert(reason.connectionFailure).inserted {
            emit(.failed(reason))
        }
        timer = reactor.schedule(after: backoff.next(random: .random(in: 0...1))) { [weak self] in self?.connect() }
    }

    private func emit(_ event: ListenEvent) {
        if case .dropped = stream.yield(event) { stream.yield(.connected) }
    }
}

/// A batch without a result: only its error is reported; nil when it succeeded.
private final class Probe: Batch {
    private let whenDone: ((any Error)?) -> Void

    init(_ queries: [EncodedQuery], whenDone: @escaping ((any Error)?) -> Void) {
        self.whenDone = whenDone
        super.init(.queries(queries))
    }

    override func succeed() {
        settle { whenDone(nil) }
    }

    override func deliver(_ error: any Error) {
        whenDone(error)
    }
}
