import Reactor

/// Connects libcurl's multi interface with a reactor. Belongs to the reactor's thread.
///
/// libcurl calls back once per chunk, and forbids to remove a transfer inside its callbacks. Both are answered in the same way: callbacks
/// only store, and at the end of the wake-up each transfer hands over all that it received, outside of any call into libcurl.
final class TransferDriver {
    private let reactor: Reactor
    private let configuration: TransferConfiguration
    /// nil when closed.
    private var multi: CurlMulti?
    private var watches: [Int32: Watch] = [:]
    private var timer: TimerHandle?
    private var running: [UInt64: RunningTransfer] = [:]
    private var idsByHandle: [CurlEasy.ID: UInt64] = [:]
    private var withNews: [RunningTransfer] = []
    private var spareHandles: [CurlEasy] = []

    /// Enough for bursts; more are freed.
    private static let mostSpareHandles = 256

    /// May be called on any thread, before the driver is used.
    init(reactor: Reactor, configuration: TransferConfiguration) throws {
        self.reactor = reactor
        self.configuration = configuration
        guard let multi = CurlMulti(idleConnections: configuration.idleConnections) else {
            throw TransferFailure.outOfMemory
        }
        self.multi = multi
        multi.waiter = self
    }

    func start(_ id: UInt64, _ request: TransferRequest, _ handlers: TransferHandlers) {
        guard let multi else { return handlers.end(.cancelled) }
        guard let easy = spareHandles.popLast() ?? CurlEasy() else { return handlers.end(.failed(.outOfMemory)) }
        let transfer = RunningTransfer(id: id, easy: easy, handlers: handlers) { [unowned self] in noteNews(of: $0) }
        do throws(TransferFailure) {
            try easy.prepare(request, configuration, for: transfer)
        } catch {
            recycle(easy)
            return handlers.end(.failed(error))
        }
        running[id] = transfer
        idsByHandle[easy.id] = id
        if !multi.add(easy) { finish(transfer, .failed(.outOfMemory), isAdded: false) }
    }

    func cancel(_ id: UInt64) {
        if let transfer = running[id] { finish(transfer, .cancelled) }
    }

    func close() {
        for transfer in running.values { finish(transfer, .cancelled) }
        // Its connections are closed now, and libcurl tells us about each: `multi` must not be under change meanwhile.
        let closing = multi
        multi = nil
        withExtendedLifetime(closing) {}
        for watch in watches.values { reactor.unwatch(watch) }
        watches = [:]
        timer?.cancel()
        spareHandles = []
    }

    // MARK: The end of a wake-up

    private func noteNews(of transfer: RunningTransfer) {
        withNews.append(transfer)
    }

    private func handOverLater() {
        reactor.atEndOfWakeUp(ObjectIdentifier(self)) { [self] in handOver() }
    }

    private func handOver() {
        var transfers: [RunningTransfer] = []
        swap(&transfers, &withNews)
        for transfer in transfers { transfer.handOver() }
        while let (handle, end) = multi?.nextFinished() {
            guard let id = idsByHandle[handle], let transfer = running[id] else { continue }
            finish(transfer, end)
        }
        transfers.removeAll(keepingCapacity: true)
        if withNews.isEmpty { swap(&transfers, &withNews) }
    }

    private func finish(_ transfer: RunningTransfer, _ end: TransferEnd, isAdded: Bool = true) {
        guard running.removeValue(forKey: transfer.id) != nil else { return }
        idsByHandle[transfer.easy.id] = nil
        if isAdded { multi?.remove(transfer.easy) }
        recycle(transfer.easy)
        transfer.end(end)
    }

    private func recycle(_ easy: CurlEasy) {
        guard spareHandles.count < Self.mostSpareHandles else { return }
        easy.reset()
        spareHandles.append(easy)
    }
}

extension TransferDriver: CurlWaiter {
    func wait(for interest: Interest?, on descriptor: Int32, isNew: Bool) {
        if isNew || interest == nil, let old = watches.removeValue(forKey: descriptor) { reactor.unwatch(old) }
        guard let interest else { return }
        if let watch = watches[descriptor] {
            reactor.update(watch, interest)
        } else {
            // It fails only when the kernel is out of memory for it; the transfer's time limits end it then.
            watches[descriptor] = try? reactor.watch(descriptor, interest) { [unowned self] readiness in
                multi?.ready(descriptor, readiness)
                handOverLater()
            }
        }
    }

    func wait(milliseconds: Int?) {
        timer?.cancel()
        timer = milliseconds.map { milliseconds in
            reactor.schedule(after: .milliseconds(milliseconds)) { [weak self] in
                guard let self else { return }
                multi?.timeout()
                handOverLater()
            }
        }
    }
}
