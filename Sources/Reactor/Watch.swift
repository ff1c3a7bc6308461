/// The registration of a file descriptor with the reactor, made by `Reactor.watch` and ended by `Reactor.unwatch`. Use only on the
/// reactor's thread. It does not own the descriptor: the reactor never closes it.
public final class Watch {
    /// The watched descriptor. After the watch has ended, the number may belong to another file.
    public let descriptor: Int32

    /// The events that the watch waits for at present.
    public internal(set) var interest: Interest

    /// Identifies the watch in epoll's events. Never used twice, unlike the descriptor's number, so that a late event of an ended watch
    /// does not reach a new watch of the same number.
    let token: UInt64

    init(descriptor: Int32, interest: Interest, token: UInt64) {
        self.descriptor = descriptor
        self.interest = interest
        self.token = token
    }
}

/// Called when a watched descriptor is ready, on the reactor's thread. A protocol for objects and not a closure, because on the path of
/// every token a closure's context is one more memory access that misses the cache.
public protocol ReadinessHandler: AnyObject {
    func ready(_ readiness: Readiness)
}

/// Calls a closure, for descriptors that are not ready for each token.
final class ClosureHandler: ReadinessHandler {
    private let body: (Readiness) -> Void

    init(_ body: @escaping (Readiness) -> Void) { self.body = body }

    func ready(_ readiness: Readiness) { body(readiness) }
}
