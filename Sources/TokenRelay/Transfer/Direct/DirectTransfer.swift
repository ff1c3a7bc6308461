import Reactor

/// One request over a direct connection, and its response. Belongs to the reactor's thread.
final class DirectTransfer: ConnectionUser {
    private enum Phase {
        case opening(ConnectionSetup)
        case active(ProviderConnection, Sending?)
        /// `cancel` reports the end.
        case stopped
        case over
    }

    /// When a request was given to a connection that was kept, and what is needed to judge its loss.
    private struct Sending {
        let at = Moment.now
        let roundTrip: Duration
        let sentBefore: Int

        init(on connection: ProviderConnection) {
            roundTrip = connection.roundTrip
            sentBefore = connection.sentBytes
        }

        /// Whether the request was lost before anybody can have seen it: the connection's end was on its way before the request arrived.
        ///
        /// Then the peer's kernel acknowledged none of it, as it acknowledges nothing on a closed socket; where a program has read a request, its
        /// close acknowledges that, and so does a reset unless it follows at once. And the end comes within a round trip; 5 ms are for this
        /// thread, which may look late. A request that the kernel of this machine did not take went nowhere.
        func isUnseen(by connection: ProviderConnection) -> Bool {
            let sent = connection.sentBytes - sentBefore
            return connection.unacknowledgedBytes >= sent && (sent == 0 || at.duration(to: .now) <= roundTrip + .milliseconds(5))
        }
    }

    let id: UInt64
    private let origin: Origin
    /// Kept until the response begins: a kept connection that was closed meanwhile is replaced.
    private var request: [UInt8]
    /// A request without effect may be sent again whatever became of the first (RFC 9110 §9.2.2).
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
        guard let connection = driver.pool.take(origin) else { return open() }
        send(over: connection, Sending(on: connection))
    }

    func cancel() { finish(.cancelled) }

    /// Closes the connection at once. See `TransferDriver.stop`.
    func stop() {
        switch phase {
        case .stopped, .over: return
        case .opening(let opening): opening.cancel()
        case .active(let connection, _): connection.close()
        }
        phase = .stopped
    }

    private func open() {
        let opening = ConnectionSetup(origin, with: driver.tools) { [self] outcome in
            switch outcome {
            case .success(let connection): send(over: connection, nil)
            case .failure(let failure): finish(.failed(failure))
            }
        }
        phase = .opening(opening)
        opening.begin(within: connectTimeout)
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
        if case .active(_, let sending?) = phase, !reader.hasBegun, isIdempotent || sending.isUnseen(by: connection) { return open() }
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
        case .opening(let opening): opening.cancel()
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
