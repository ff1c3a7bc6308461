import Reactor

/// Watches libcurl's sockets, level-triggered: libcurl may leave bytes in a socket. Belongs to the client's thread.
final class SocketWatches {
    /// A socket is ready.
    var onReady: (Int32, Readiness) -> Void = { _, _ in }

    private let reactor: Reactor
    private var watches: [Int32: Watch] = [:]

    init(reactor: Reactor) {
        self.reactor = reactor
    }

    /// Called inside libcurl.
    func change(_ descriptor: Int32, _ wish: MultiHandle.Wish) {
        switch wish {
        case .forget:
            // Perhaps closed in a moment, and its number used again: the next socket gets a watch of its own.
            if let watch = watches.removeValue(forKey: descriptor) { reactor.unwatch(watch) }
        case .watch(let read, let write):
            let interest: Interest = [read ? .read : [], write ? .write : []]
            if let watch = watches[descriptor] {
                reactor.update(watch, interest)
            } else {
                // Cannot be refused but for want of memory; the transfer's time limit ends it then.
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
