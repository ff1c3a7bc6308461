import Reactor

/// One request of the direct driver and its response, over a pooled or a new connection. Use only on the reactor's thread.
final class DirectTransfer: ConnectionUser {
    private enum Phase {
        case connecting(ConnectionSetup)
        /// The request was sent; with `Sending` if the connection came from the pool.
        case active(ProviderConnection, Sending?)
        /// The connection is closed. `end` is not yet called: `cancel` follows.
        case stopped
        case over
    }

    /// The state of a pooled connection when the request was sent on it, to decide whether the request may be sent again if the connection
    /// ends.
    private struct Sending {
        let at = MonotonicInstant.now
        let roundTrip: Duration
        let sentBefore: Int

        init(on connection: ProviderConnection) {
            roundTrip = connection.roundTrip
            sentBefore = connection.sentBytes
        }

        /// Whether the peer's program cannot have read the request, because the peer closed the connection before the request arrived.
        ///
        /// Two signs are required. The peer's kernel acknowledged no byte of the request: on a closed socket it acknowledges nothing, while
        /// the close or reset after a program has read a request acknowledges it (except a reset at once). And the end came within a round
        /// trip after sending, plus 5 ms because this thread may run late. If this machine's kernel took no byte of the request, it was not
        /// sent.
        func isUnseen(by connection: ProviderConnection) -> Bool {
            let sent = connection.sentBytes - sentBefore
            return connection.unacknowledgedBytes >= sent && (sent == 0 || at.duration(to: .now) <= roundTrip + .milliseconds(5))
        }
    }

    let id: UInt64
    private let origin: Origin
    /// The encoded request. Kept until the response begins, because it may have to be sent again on a new connection.
    private var request: [UInt8]
    /// An idempotent request is sent again whenever a pooled connection ends without a response (RFC 9110 §9.2.2).
    private let isIdempotent: Bool
    private let connectTimeout: Duration
    private let handlers: TransferHandlers
    private unowned let driver: DirectDriver
    private var phase = Phase.over
    private var reader = ResponseReader()

    init(
        id: UInt64, origin: Origin, request: [UInt8], isIdempotent: Bool, connectTimeout: Duration, handlers: TransferHandlers,
        driver: DirectDriver
    ) {
        self.id = id
        self.origin = origin
        self.request = request
        self.isIdempotent = isIdempotent
        self.connectTimeout = connectTimeout
        self.handlers = handlers
        self.driver = driver
    }

    func begin() {
        guard let connection = driver.pool.take(origin) else { return connect() }
        send(over: connection, Sending(on: connection))
    }

    func cancel() { finish(.cancelled) }

    /// Closes the connection at once. See `TransferDriver.stop`.
    func stop() {
        switch phase {
        case .stopped, .over: return
        case .connecting(let setup): setup.cancel()
        case .active(let connection, _): connection.close()
        }
        phase = .stopped
    }

    private func connect() {
        let setup = ConnectionSetup(origin, with: driver.tools) { [self] outcome in
            switch outcome {
            case .success(let connection): send(over: connection, nil)
            case .failure(let failure): finish(.failed(failure))
            }
        }
        phase = .connecting(setup)
        setup.begin(within: connectTimeout)
    }

    private func send(over connection: ProviderConnection, _ sending: Sending?) {
        phase = .active(connection, sending)
        connection.user = self
        connection.send(request)
    }

    func received(_ bytes: UnsafeMutableRawBufferPointer, on connection: ProviderConnection) {
        do throws(HeadReader.Malformed) {
            let count = try reader.read(bytes, onHead: handlers.head)
            // The head's handler may have cancelled.
            if count > 0, isActive { handlers.bytes(UnsafeRawBufferPointer(rebasing: bytes[..<count])) }
        } catch {
            return finish(.failed(TransferFailure(kind: .cut)))
        }
        guard isActive else { return }
        if !request.isEmpty { request = [] }
        if reader.isComplete { finish(.complete) }
    }

    func secured(_ connection: ProviderConnection) {}

    func ended(_ end: ConnectionEnd, on connection: ProviderConnection) {
        if case .active(_, let sending?) = phase, !reader.hasBegun, isIdempotent || sending.isUnseen(by: connection) { return connect() }
        switch end {
        case .closed where reader.close(): finish(.complete)
        case .closed: finish(.failed(TransferFailure(kind: reader.hasBegun ? .cut : .unanswered)))
        case .failed(let failure) where failure.kind == .cut && !reader.hasBegun:
            finish(.failed(TransferFailure(kind: .unanswered, code: failure.code)))
        case .failed(let failure): finish(.failed(failure))
        }
    }

    private var isActive: Bool { if case .active = phase { true } else { false } }

    private func finish(_ end: TransferEnd) {
        let before = phase
        phase = .over
        switch before {
        case .over: return
        case .stopped: break
        case .connecting(let setup): setup.cancel()
        case .active(let connection, _):
            if end == .complete, reader.mayReuse, connection.isQuiet {
                driver.pool.keep(connection, within: reader.keepAlive)
            } else {
                connection.close()
            }
        }
        driver.forget(self)
        handlers.end(end)
    }
}
