import Reactor

/// Starts, finds and cancels transfers. Belongs to the reactor's thread.
final class TransferDriver {
    let pool: ConnectionPool
    let tools: ConnectionTools
    private let proxies: ProxyRules
    private var running: [UInt64: RunningTransfer] = [:]
    private var isClosed = false

    /// May be called on any thread, before the driver is used.
    init(reactor: Reactor, configuration: TransferConfiguration) {
        pool = ConnectionPool(reactor: reactor, capacity: configuration.idleConnections)
        tools = ConnectionTools(reactor: reactor)
        proxies = ProxyRules(environment: configuration.proxyEnvironment)
    }

    func start(_ id: UInt64, _ request: TransferRequest, _ handlers: TransferHandlers) {
        guard !isClosed else { return handlers.end(.cancelled) }
        guard let address = TransferAddress(request.url, authorityFile: request.authorityFile), address.credentials == nil else {
            return handlers.end(.failed(TransferFailure(kind: .request)))
        }
        guard case .success(let proxy) = proxies.proxy(for: address.origin) else {
            return handlers.end(.failed(TransferFailure(kind: .request)))
        }
        let key = ConnectionKey(origin: address.origin, proxy: proxy)
        guard let bytes = RequestEncoder.encode(request, to: address, through: key.proxy) else {
            return handlers.end(.failed(TransferFailure(kind: .request)))
        }
        let transfer = RunningTransfer(
            id: id, key: key, request: bytes, isIdempotent: request.body == nil, connectTimeout: request.connectTimeout,
            handlers: handlers, driver: self)
        running[id] = transfer
        transfer.begin()
    }

    func cancel(_ id: UInt64) { running[id]?.cancel() }

    /// See `RunningTransfer.stop`.
    func stop(_ id: UInt64) { running[id]?.stop() }

    func forget(_ transfer: RunningTransfer) { running[transfer.id] = nil }

    func close() {
        isClosed = true
        for transfer in running.values { transfer.cancel() }
        pool.close()
    }
}
