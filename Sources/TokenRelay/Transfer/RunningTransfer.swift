import Reactor

/// One request on its way, and its response. Belongs to the reactor's thread.
final class RunningTransfer: ConnectionUser {
    private enum Phase {
        case opening(ConnectionSetup)
        case talking(ProviderConnection, Sending?)
        /// Cancelled; the end is told by `cancel`.
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
    private let key: ConnectionKey
    /// Kept until the response begins: a kept connection that was closed meanwhile is replaced.
    private var request: [UInt8]
    /// A request without effect may be sent again whatever became of the first (RFC 9110 §9.2.2).
    private let isIdempotent: Bool
    private let connectTimeout: Duration
    private let handlers: TransferHandlers
    private unowned let driver: TransferDriver
    private var phase = Phase.over
    private var reader = ResponseReader()

    init(
        id: UInt64, key: ConnectionKey, request: [UInt8], isIdempotent: Bool, connectTimeout: Duration, handlers: TransferHandlers,
        driver: TransferDriver
    ) {
        self.id = id
        self.key = key
        self.request = request
        self.isIdempotent = isIdempotent
        self.connectTimeout = connectTimeout
        self.handlers = handlers
        self.driver = driver
    }

    func begin() {
        guard let connection = driver.pool.take(key) else { return open() }
        talk(connection, Sending(on: connection))
    }

    func cancel() { finish(.cancelled) }

    /// Closes the connection at once: no more of the response is handed over. `cancel` is to follow. Allowed inside handlers.
    func stop() {
        switch phase {
        case .stopped, .over: return
        case .opening(let opening): opening.cancel()
        case .talking(let connection, _): connection.close()
        }
        phase = .stopped
    }

    private func open() {
        let opening = ConnectionSetup(key, with: driver.tools) { [self] outcome in
            switch outcome {
            case .success(let connection): talk(connection, nil)
            case .failure(let failure): finish(.failed(failure))
            }
        }
        phase = .opening(opening)
        opening.begin(within: connectTimeout)
    }

    private func talk(_ connection: ProviderConnection, _ sending: Sending?) {
        phase = .talking(connection, sending)
        connection.user = self
        connection.send(request)
    }

    func received(_ bytes: UnsafeMutableRawBufferPointer, on connection: ProviderConnection) {
        do throws(HeadReader.Malformed) {
            let count = try reader.read(bytes, onHead: handlers.head)
            // The head's handler may have cancelled.
            if count > 0, isTalking { handlers.bytes(UnsafeRawBufferPointer(rebasing: bytes[..<count])) }
        } catch {
            return finish(.failed(TransferFailure(kind: .cut)))
        }
        guard isTalking else { return }
        if !request.isEmpty { request = [] }
        if reader.isComplete { finish(.complete) }
    }

    func secured(_ connection: ProviderConnection) {}

    func ended(_ end: ConnectionEnd, on connection: ProviderConnection) {
        if case .talking(_, let sending?) = phase, !reader.hasBegun, isIdempotent || sending.isUnseen(by: connection) { return open() }
        switch end {
        case .closed where reader.close(): finish(.complete)
        case .closed: finish(.failed(TransferFailure(kind: reader.hasBegun ? .cut : .unanswered)))
        case .failed(let failure) where failure.kind == .cut && !reader.hasBegun:
            finish(.failed(TransferFailure(kind: .unanswered, code: failure.code)))
        case .failed(let failure): finish(.failed(failure))
        }
    }

    private var isTalking: Bool { if case .talking = phase { true } else { false } }

    private func finish(_ end: TransferEnd) {
        let before = phase
        phase = .over
        switch before {
        case .over: return
        case .stopped: break
        case .opening(let opening): opening.cancel()
        case .talking(let connection, _):
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
