import Reactor

/// The shared objects with which connections are opened: name cache, TLS contexts, receive buffers, order of addresses. Use only on
/// the reactor's thread.
final class ConnectionTools {
    let reactor: Reactor
    let names: NameCache
    let tlsContexts: TLSContextCache
    let buffers = ReceiveBuffers()
    var order = AddressOrder()

    init(reactor: Reactor, lookUp: @escaping NameCache.Resolver = { NameLookup.addresses(of: $0) }) {
        self.reactor = reactor
        names = NameCache(reactor: reactor, lookUp: lookUp)
        tlsContexts = TLSContextCache(reactor: reactor)
    }
}

/// Opens one connection to an origin: name lookup, TCP connect, TLS handshake, within one time limit. Use only on the reactor's thread.
final class ConnectionSetup: ConnectionUser {
    typealias Outcome = Result<ProviderConnection, TransferFailure>

    private let origin: Origin
    private let tools: ConnectionTools
    private var timer: TimerHandle?
    private var connector: HappyEyeballsConnector?
    private var connection: ProviderConnection?
    /// Nil after the end.
    private var onEnd: ((Outcome) -> Void)?

    init(_ origin: Origin, with tools: ConnectionTools, onEnd: @escaping (Outcome) -> Void) {
        self.origin = origin
        self.tools = tools
        self.onEnd = onEnd
    }

    /// - Parameter limit: time limit of the whole setup.
    func begin(within limit: Duration) {
        timer = tools.reactor.schedule(after: limit) { [self] in
            connector?.giveUp()
            finish(.failure(TransferFailure(kind: .connectTimeout)))
        }
        tools.names.addresses(of: origin.host) { [self] answer in
            guard onEnd != nil else { return }
            switch answer {
            case .success(let addresses): connect(to: tools.order.ordered(addresses, at: .now))
            case .failure(let failure): finish(.failure(TransferFailure(kind: .resolve, code: failure.code)))
            }
        }
    }

    /// Ends the setup without calling `onEnd`.
    func cancel() { finish(nil) }

    private func connect(to addresses: [String]) {
        let connector = HappyEyeballsConnector(
            addresses, port: origin.port, on: tools.reactor, onFailedAddress: { [tools] in tools.order.failed($0, at: .now) }
        ) { [self] result in
            switch result {
            case .success(let descriptor): connected(descriptor)
            case .failure(let failure): finish(.failure(failure))
            }
        }
        self.connector = connector
        connector.begin()
    }

    private func connected(_ descriptor: Int32) {
        let connection = ProviderConnection(descriptor, origin: origin, reactor: tools.reactor, buffers: tools.buffers)
        self.connection = connection
        connection.user = self
        do { try connection.begin() } catch { return finish(.failure(TransferFailure(kind: .other))) }
        if origin.isSecure { secure(connection) } else { finish(.success(connection)) }
    }

    private func secure(_ connection: ProviderConnection) {
        tools.tlsContexts.context(origin.authorityFile) { [self] answer in
            // The setup may have ended while the authorities were read.
            guard onEnd != nil else { return }
            do throws(TransferFailure) {
                connection.secure(with: try TLSEngine(try answer.get(), host: origin.host, port: origin.port))
            } catch {
                finish(.failure(error))
            }
        }
    }

    /// Plain bytes before the handshake: a TLS server sends nothing before the client hello.
    func received(_ bytes: UnsafeMutableRawBufferPointer, on connection: ProviderConnection) {
        finish(.failure(TransferFailure(kind: .tls)))
    }

    func secured(_ connection: ProviderConnection) { finish(.success(connection)) }

    func ended(_ end: ConnectionEnd, on connection: ProviderConnection) {
        self.connection = nil
        switch end {
        // No request was sent yet, so `cut` and `closed` become `connect`.
        case .failed(let failure) where failure.kind != .cut: finish(.failure(failure))
        case .failed(let failure): finish(.failure(TransferFailure(kind: .connect, code: failure.code)))
        case .closed: finish(.failure(TransferFailure(kind: .connect)))
        }
    }

    private func finish(_ outcome: Outcome?) {
        guard let onEnd else { return }
        self.onEnd = nil
        timer?.cancel()
        connector?.cancel()
        connector = nil
        guard let outcome, case .success = outcome else {
            connection?.close()
            connection = nil
            outcome.map(onEnd)
            return
        }
        connection = nil
        onEnd(outcome)
    }
}
