import CLibCurl
import Reactor

/// The part of `OutboundHTTPClient` on its thread: connects the running transfers, libcurl's multi handle, its sockets and its timer. Use
/// only on that thread. Its methods are called by the reactor, never from inside a libcurl function, except `willDeliver`.
final class OutboundHTTPClientDriver {
    let reactor: Reactor
    let names: NameCache
    let sessions: SessionShare
    private let configuration: OutboundConfiguration
    private let sockets: SocketWatches
    private let timer: CurlTimer
    /// Nil after `close`.
    private var multi: MultiHandle?
    private var transfers: [UInt64: RunningTransfer] = [:]
    private var transfersByHandle: [UnsafeMutableRawPointer: RunningTransfer] = [:]
    /// Transfers that have recorded something to deliver.
    private var deliverable: [RunningTransfer] = []

    /// May be called on any thread, before the driver is used.
    init(reactor: Reactor, configuration: OutboundConfiguration, names: NameCache) throws(OutboundError) {
        let sockets = SocketWatches(reactor: reactor)
        let timer = CurlTimer(reactor: reactor)
        self.reactor = reactor
        self.configuration = configuration
        self.names = names
        self.sockets = sockets
        self.timer = timer
        sessions = try SessionShare()
        multi = try MultiHandle(configuration, onSocket: { sockets.change($0, $1) }, onTimer: { timer.move(toMilliseconds: $0) })
        // `close` breaks these reference cycles.
        sockets.onReady = { [self] descriptor, readiness in
            act { multi in
                multi.act(
                    on: descriptor, canRead: readiness.contains(.readable), canWrite: readiness.contains(.writable),
                    hasFailed: readiness.contains(.failed))
            }
        }
        timer.onTimeout = { [self] in act { $0.timeout() } }
    }

    func start(_ id: UInt64, _ request: OutboundRequest, _ handlers: OutboundHandlers) {
        do throws(OutboundError) {
            guard multi != nil else { throw OutboundError(.shutDown, "the HTTP client was shut down") }
            guard transfers.count < configuration.maximumTransfers else {
                throw OutboundError(.overloaded, "\(transfers.count) requests are under way")
            }
            let transfer = RunningTransfer(id: id, try PreparedRequest(request, configuration), handlers, driver: self)
            transfers[id] = transfer
            transfer.begin()
        } catch {
            handlers.end(error)
        }
    }

    func resume(_ id: UInt64) { act { _ in transfers[id]?.resume() } }

    func cancel(_ id: UInt64) { transfers[id]?.end(OutboundError(.cancelled, "the request was cancelled")) }

    func close() {
        for transfer in transfers.values { transfer.end(OutboundError(.shutDown, "the HTTP client was shut down")) }
        // Closes the idle connections.
        multi = nil
        sockets.close()
        timer.close()
    }

    // MARK: Called by transfers

    /// Gives a transfer's handle to libcurl, which begins at the end of this wake-up: adding only sets libcurl's timer.
    func add(_ handle: EasyHandle, of transfer: RunningTransfer) throws(OutboundError) {
        transfersByHandle[handle.pointer] = transfer
        try multi?.add(handle)
    }

    /// Takes a handle from libcurl. The transfer must keep it until this returns.
    func remove(_ handle: EasyHandle) {
        multi?.remove(handle)
        transfersByHandle[handle.pointer] = nil
    }

    func forget(_ transfer: RunningTransfer) { transfers[transfer.id] = nil }

    /// Registers a transfer whose `deliver` is to be called. Called inside libcurl functions.
    func willDeliver(_ transfer: RunningTransfer) { deliverable.append(transfer) }

    // MARK: Private

    /// Calls a libcurl function and then, outside libcurl, delivers what arrived in it and ends the transfers that ended.
    private func act(_ body: (MultiHandle) -> Void) {
        guard let multi else { return }
        body(multi)
        let arrived = deliverable
        deliverable.removeAll(keepingCapacity: true)
        for transfer in arrived { transfer.deliver() }
        while let end = self.multi?.nextEnd() { transfersByHandle[end.handle]?.ended(end.code) }
    }
}
