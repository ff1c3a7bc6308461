import Reactor

/// Watches libcurl's sockets on the reactor. Level-triggered, because libcurl may leave bytes in a socket. Use only on the client's thread.
final class SocketWatches {
    /// Called when a socket is ready.
    var onReady: (Int32, Readiness) -> Void = { _, _ in }

    private let reactor: Reactor
    private var watches: [Int32: Watch] = [:]

    init(reactor: Reactor) {
        self.reactor = reactor
    }

    /// Begins, changes or ends the watch of a socket. Called inside libcurl functions.
    func change(_ descriptor: Int32, _ change: MultiHandle.SocketChange) {
        switch change {
        case .remove:
            // libcurl may close the socket next, and its number may be used again: a new socket must get a new watch.
            if let watch = watches.removeValue(forKey: descriptor) { reactor.unwatch(watch) }
        case .watch(let read, let write):
            let interest: Interest = [read ? .read : [], write ? .write : []]
            if let watch = watches[descriptor] {
                reactor.update(watch, interest)
            } else {
                // Fails only without memory; then the time limit ends the transfer.
                watches[descriptor] = try? reactor.watch(descriptor, interest) { [self] in onReady(descriptor, $0) }
            }
        }
    }

    func close() {
        for watch in watches.values { reactor.unwatch(watch) }
        watches = [:]
        onReady = { _, _ in }
    }
}
