import OutboundHTTP
import Reactor

/// The driver of transfers that need libcurl: proxies, HTTP/2, client certificates. libcurl runs on a thread of its own; this object and
/// all handlers are used only on the relay's thread.
final class LibcurlDriver: TransferDriver {
    private enum State {
        /// libcurl's thread is started by the first transfer.
        case idle
        case running(OutboundHTTPClient)
        case closed
    }

    private let reactor: Reactor
    private let maximumTransfers: Int
    private var state = State.idle
    private var transfers: [UInt64: LibcurlTransfer] = [:]

    /// May be called on any thread, before the driver is used.
    init(reactor: Reactor, maximumTransfers: Int) {
        self.reactor = reactor
        self.maximumTransfers = maximumTransfers
    }

    func start(_ id: UInt64, _ request: TransferRequest, _ handlers: TransferHandlers) {
        guard case .libcurl(let options) = request.route else { preconditionFailure("a request of another driver") }
        let client: OutboundHTTPClient
        switch state {
        case .closed: return handlers.end(.cancelled)
        case .running(let running): client = running
        case .idle:
            guard let started = try? OutboundHTTPClient(configuration) else {
                // The process has no descriptors or memory; the next transfer tries again.
                return handlers.end(.failed(TransferFailure(kind: .other)))
            }
            client = started
            state = .running(started)
        }
        let transfer = LibcurlTransfer(handlers, reactor: reactor) { [self] in transfers[id] = nil }
        transfers[id] = transfer
        transfer.begin(request.outbound(options), with: client)
    }

    func cancel(_ id: UInt64) { transfers[id]?.cancel() }

    func stop(_ id: UInt64) { transfers[id]?.stop() }

    func close() {
        let before = state
        state = .closed
        for transfer in transfers.values { transfer.cancel() }
        guard case .running(let client) = before else { return }
        // `shutDown` waits for libcurl's thread, so it must not run on this one.
        if !HelperThread.run({ client.shutDown() }) { client.shutDown() }
    }

    private var configuration: OutboundConfiguration {
        var configuration = OutboundConfiguration()
        configuration.name = "libcurl"
        configuration.maximumTransfers = maximumTransfers
        // Requests are POSTs, which never reuse a connection.
        configuration.idleConnections = 1
        return configuration
    }
}

extension TransferRequest {
    /// The request for `OutboundHTTPClient`. Its only time limit is that for connecting; the caller enforces the others.
    fileprivate func outbound(_ options: LibcurlOptions) -> OutboundRequest {
        var outbound = OutboundRequest(
            body == nil ? .get : .post, url: url, headers: headers.map { HTTPHeader($0.name, $0.value) }, body: body)
        outbound.limits = OutboundLimits(connect: connectTimeout, total: nil, responseBytes: .max)
        outbound.version = options.version
        outbound.proxy = options.proxy.map { .use($0) } ?? .none
        outbound.certificate = options.certificate
        outbound.authorityFile = authorityFile
        return outbound
    }
}
