import Reactor

/// What is needed to open connections. Belongs to the reactor's thread.
final class ConnectionTools {
    let reactor: Reactor
    let names: NameCache
    let trust: TrustStore
    let buffers = ReceiveBuffers()

    init(reactor: Reactor) {
        self.reactor = reactor
        names = NameCache(reactor: reactor)
        trust = TrustStore(reactor: reactor)
    }
}

/// From a key to a connection that a request can be sent over: name, socket, tunnel, handshake. Belongs to the reactor's thread.
final class ConnectionSetup: ConnectionUser {
    typealias Outcome = Result<ProviderConnection, TransferFailure>

    private let key: ConnectionKey
    private let tools: ConnectionTools
    private var timer: TimerHandle?
    private var connector: HappyEyeballsConnector?
    private var connection: ProviderConnection?
    /// While a proxy is asked for a tunnel: reads its answer.
    private var tunnelReply: ResponseReader?
    /// nil when over.
    private var onEnd: ((Outcome) -> Void)?

    init(_ key: ConnectionKey, with tools: ConnectionTools, onEnd: @escaping (Outcome) -> Void) {
        self.key = key
        self.tools = tools
        self.onEnd = onEnd
    }

    /// - Parameter limit: for everything together.
    func begin(within limit: Duration) {
        timer = tools.reactor.schedule(after: limit) { [self] in
            connector?.giveUp()
            finish(.failure(TransferFailure(kind: .connectTimeout)))
        }
        tools.names.addresses(of: key.proxy?.host ?? key.origin.host) { [self] answer in
            guard onEnd != nil else { return }
            switch answer {
            case .success(let addresses): dial(tools.names.ordered(addresses))
            case .failure(let failure): finish(.failure(failure))
            }
        }
    }

    /// Ends it without a word.
    func cancel() { finish(nil) }

    private func dial(_ addresses: [String]) {
        let connector = HappyEyeballsConnector(
            addresses, port: key.proxy?.port ?? key.origin.port, on: tools.reactor, onFailedAddress: tools.names.failed
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
        let connection = ProviderConnection(descriptor, key: key, reactor: tools.reactor, buffers: tools.buffers)
        self.connection = connection
        connection.user = self
        do { try connection.begin() } catch { return finish(.failure(TransferFailure(kind: .other))) }
        if !key.origin.isSecure {
            finish(.success(connection))
        } else if let proxy = key.proxy {
            tunnelReply = ResponseReader()
            connection.send(RequestEncoder.tunnel(to: key.origin, through: proxy))
        } else {
            secure(connection)
        }
    }

    private func secure(_ connection: ProviderConnection) {
        tunnelReply = nil
        tools.trust.context(key.origin.authorityFile) { [self] answer in
            // The connection may have ended while the authorities were read.
            guard onEnd != nil else { return }
            do throws(TransferFailure) {
                connection.secure(with: try TLSSession(try answer.get(), host: key.origin.host, port: key.origin.port))
            } catch {
                finish(.failure(error))
            }
        }
    }

    /// The proxy's answer: no body belongs to a tunnel that was opened (RFC 9110 §9.3.6).
    func received(_ bytes: UnsafeMutableRawBufferPointer, on connection: ProviderConnection) {
        // A TLS server does not speak first.
        guard tunnelReply != nil else { return finish(.failure(TransferFailure(kind: .tls))) }
        var status: Int?
        let isReadable = (try? tunnelReply?.read(bytes) { status = $0.status }) != nil
        switch status {
        case 200?: secure(connection)
        case nil where isReadable: break
        default: finish(.failure(TransferFailure(kind: .connect)))
        }
    }

    func secured(_ connection: ProviderConnection) { finish(.success(connection)) }

    func ended(_ end: ConnectionEnd, on connection: ProviderConnection) {
        self.connection = nil
        switch end {
        // No request was sent, so nothing was cut.
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
