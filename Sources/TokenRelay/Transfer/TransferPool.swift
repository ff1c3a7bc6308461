import Reactor
import Synchronization

/// What a pool does with connections.
public struct TransferConfiguration: Sendable {
    /// The process's environment, for `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy`; hosts of this machine are always reached
    /// directly. Empty: no proxies.
    public var proxyEnvironment: [String: String]
    /// Connections kept open after their transfer, over all hosts: as many as transfers may run at once, or a crowd pays for its handshakes again.
    public var idleConnections: Int

    public init(proxyEnvironment: [String: String] = [:], idleConnections: Int = 2000) {
        self.proxyEnvironment = proxyEnvironment
        self.idleConnections = idleConnections
    }
}

/// Runs HTTP/1.1 transfers on a reactor's thread, over pooled connections, plain or TLS 1.2 and later. The peer's certificate is always verified, redirects are never
/// followed. Nothing is sent twice except a request on a kept connection that was lost before anybody can have seen it, and a `GET` on one.
public final class TransferPool: Sendable {
    private let reactor: Reactor
    // SAFETY: used only inside work submitted to the reactor, that is, on its thread.
    private nonisolated(unsafe) let driver: TransferDriver
    private let lastID = Atomic<UInt64>(0)

    /// Nothing is connected yet.
    public init(reactor: Reactor, configuration: TransferConfiguration = TransferConfiguration()) {
        self.reactor = reactor
        driver = TransferDriver(reactor: reactor, configuration: configuration)
    }

    deinit {
        close()
    }

    /// Starts a transfer soon; returns at once. Any thread.
    public func start(_ request: TransferRequest, _ handlers: TransferHandlers) -> Transfer {
        let id = lastID.add(1, ordering: .relaxed).newValue
        nonisolated(unsafe) let driver = driver
        reactor.submit { driver.start(id, request, handlers) }
        return Transfer { [reactor] in
            // Inside a handler the connection is closed at once: what else it has received is not handed over.
            if reactor.isOnReactorThread { driver.stop(id) }
            reactor.submit { driver.cancel(id) }
        }
    }

    /// Reads an authority file (nil: the system's authorities) beside the reactor's thread, so that the first transfer need not wait for it. Any thread.
    public func prepare(authorityFile: String?) {
        nonisolated(unsafe) let driver = driver
        reactor.submit { driver.tools.trust.context(authorityFile) { _ in } }
    }

    /// Cancels all transfers, closes all connections, and refuses what comes later (it ends as cancelled). Any thread; idempotent.
    public func close() {
        nonisolated(unsafe) let driver = driver
        reactor.submit { driver.close() }
    }

    // MARK: For state that lives beside its transfers

    /// Runs `work` on the thread on which handlers are called, after what was submitted before. Any thread.
    public func submit(_ work: @escaping @Sendable () -> Void) {
        reactor.submit(work)
    }

    /// Runs `body` once, not before `delay` has passed. Only on the thread on which handlers are called.
    public func schedule(after delay: Duration, _ body: @escaping () -> Void) -> TransferAlarm {
        TransferAlarm(timer: reactor.schedule(after: delay, body))
    }
}

/// A transfer that was started.
public struct Transfer: Sendable {
    private let stop: @Sendable () -> Void

    fileprivate init(stop: @escaping @Sendable () -> Void) {
        self.stop = stop
    }

    /// Ends the transfer. On the reactor's thread the connection is closed at once and nothing more is handed over; on others, as soon as that
    /// thread comes to it, and calls that were under way may come before. `end(.cancelled)` follows, unless it had ended by then. Idempotent.
    public func cancel() { stop() }
}

/// A timer set with `TransferPool.schedule`. Belongs to the thread on which handlers are called.
public struct TransferAlarm {
    fileprivate let timer: TimerHandle

    /// Takes it back. Harmless when it has fired.
    public func cancel() { timer.cancel() }
}
