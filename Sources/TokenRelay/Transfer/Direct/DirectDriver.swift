import Reactor

/// The fast driver of transfers: HTTP/1.1 directly to the provider, plain or over TLS, on the relay's thread, with pooled connections. Use
/// only on that thread.
final class DirectDriver: TransferDriver {
    let pool: ConnectionPool
    let tools: ConnectionTools
    private var running: [UInt64: DirectTransfer] = [:]
    private var isClosed = false

    /// May be called on any thread, before the driver is used.
    init(reactor: Reactor, idleConnections: Int) {
        pool = ConnectionPool(reactor: reactor, capacity: idleConnections)
        tools = ConnectionTools(reactor: reactor)
    }

    func start(_ id: UInt64, _ request: TransferRequest, _ handlers: TransferHandlers) {
        guard !isClosed else { return handlers.end(.cancelled) }
        guard let url = TransferURL(request.url, authorityFile: request.authorityFile),
            let bytes = RequestEncoder.encode(request, to: url)
        else { return handlers.end(.failed(TransferFailure(kind: .request))) }
        let transfer = DirectTransfer(
            id: id, origin: url.origin, request: bytes, isIdempotent: request.body == nil, connectTimeout: request.connectTimeout,
            handlers: handlers, driver: self)
        running[id] = transfer
        transfer.begin()
    }

    func cancel(_ id: UInt64) { running[id]?.cancel() }

    func stop(_ id: UInt64) { running[id]?.stop() }

    func forget(_ transfer: DirectTransfer) { running[transfer.id] = nil }

    func close() {
        isClosed = true
        for transfer in running.values { transfer.cancel() }
        pool.close()
    }
}
