import OutboundHTTP
import Reactor
import Synchronization

/// One transfer by libcurl: takes what libcurl's thread has put into the mailbox, and calls the handlers on the relay's thread. Use only on
/// the relay's thread.
final class LibcurlTransfer {
    private enum Phase {
        case running(OutboundTransfer)
        /// No handler but `end` is called any more; `cancel` follows.
        case stopped
        case over
    }

    /// The most bytes for one call of the handler; the thread's other work runs between the calls. The same as one read of the direct
    /// driver.
    private static let pieceBytes = 16 << 10

    private let handlers: TransferHandlers
    private let reactor: Reactor
    private let onEnd: () -> Void
    private let mailbox = LibcurlMailbox()
    private var phase = Phase.over
    /// Contents taken from the mailbox and not yet delivered completely.
    private var taken = TransferMailbox.Contents()
    /// How many bytes of `taken` were delivered.
    private var delivered = 0

    /// - Parameter onEnd: called once, before the `end` handler.
    init(_ handlers: TransferHandlers, reactor: Reactor, onEnd: @escaping () -> Void) {
        self.handlers = handlers
        self.reactor = reactor
        self.onEnd = onEnd
    }

    func begin(_ request: OutboundRequest, with client: OutboundHTTPClient) {
        let transfer = ReactorBound(self, to: reactor)
        phase = .running(client.start(request, mailbox.handlers { transfer.submit { $0.deliver() } }))
    }

    func cancel() {
        if case .running(let transfer) = phase { transfer.cancel() }
        finish(.cancelled)
    }

    /// See `TransferDriver.stop`.
    func stop() {
        guard case .running(let transfer) = phase else { return }
        transfer.cancel()
        phase = .stopped
    }

    /// Passes the next piece of what has arrived to the handlers.
    private func deliver() {
        guard case .running(let transfer) = phase else { return }
        if taken.isEmpty, mailbox.take(into: &taken) { transfer.resume() }
        if let head = taken.head {
            taken.head = nil
            handlers.head(head)
        }
        deliverBytes()
        guard case .running = phase else { return }
        if taken.bytes.isEmpty, let end = taken.end { return finish(end) }
        if taken.isEmpty, mailbox.mayRest() { return }
        ReactorBound(self, to: reactor).submit { $0.deliver() }
    }

    private func deliverBytes() {
        // The head's handler may have cancelled.
        guard case .running = phase, !taken.bytes.isEmpty else { return }
        let end = min(delivered + Self.pieceBytes, taken.bytes.count)
        taken.bytes.withUnsafeBytes { handlers.bytes(UnsafeRawBufferPointer(rebasing: $0[delivered..<end])) }
        delivered = end
        guard end == taken.bytes.count else { return }
        // Do not keep the capacity of a burst.
        taken.bytes.removeAll(keepingCapacity: taken.bytes.capacity <= TransferMailbox.capacity)
        delivered = 0
    }

    private func finish(_ end: TransferEnd) {
        if case .over = phase { return }
        phase = .over
        taken = TransferMailbox.Contents()
        onEnd()
        handlers.end(end)
    }
}

/// A `TransferMailbox` behind a lock, between libcurl's thread and the relay's.
private final class LibcurlMailbox: Sendable {
    private let state = Mutex(TransferMailbox())

    /// Handlers for libcurl's thread, which put into the mailbox.
    /// - Parameter notify: called when the reader must take from the mailbox.
    func handlers(_ notify: @escaping @Sendable () -> Void) -> OutboundHandlers {
        OutboundHandlers(
            head: { head in
                let head = TransferHead(status: head.status, headers: head.headers.map { TransferHeader($0.name, $0.value) })
                if self.state.withLock({ $0.put(head: head) }) { notify() }
            },
            bytes: { bytes in
                let (notifies, pauses) = self.state.withLock { $0.put(bytes: bytes) }
                if notifies { notify() }
                return pauses ? .pause : .more
            },
            end: { error in
                let end = error.map { TransferEnd($0) } ?? .complete
                if self.state.withLock({ $0.put(end: end) }) { notify() }
            })
    }

    func take(into contents: inout TransferMailbox.Contents) -> Bool { state.withLock { $0.take(into: &contents) } }

    func mayRest() -> Bool { state.withLock { $0.mayRest() } }
}
