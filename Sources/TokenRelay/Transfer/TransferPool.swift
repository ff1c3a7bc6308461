import Reactor
import Synchronization

/// What a pool does with connections.
public struct TransferConfiguration: Sendable {
    /// Whether proxies are used.
    public enum Proxy: Sendable {
        /// `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy` of the process; hosts of this machine are always reached directly.
        case environment
        case none
    }

    public var proxy: Proxy
    /// HTTP/2 where a TLS peer offers it; plain connections are HTTP/1.1. So is every connection with a libcurl that does not reset
    /// cancelled streams (`CurlLibrary`), whatever is set here: a cancel that reaches the provider is worth more.
    public var allowsHTTP2: Bool
    /// Connections kept open after their transfer, over all hosts.
    public var idleConnections: Int

    /// Memberwise.
    public init(proxy: Proxy = .environment, allowsHTTP2: Bool = true, idleConnections: Int = 1024) {
        self.proxy = proxy
        self.allowsHTTP2 = allowsHTTP2
        self.idleConnections = idleConnections
    }
}

/// Runs HTTP transfers on a reactor's thread, over pooled connections. The peer's certificate is always verified, redirects are never
/// followed, nothing is retried except a request that a kept connection dropped without a byte of response.
public final class TransferPool: Sendable {
    private let reactor: Reactor
    // SAFETY: used only inside work submitted to the reactor, that is, on its thread.
    private nonisolated(unsafe) let driver: TransferDriver
    private let lastID = Atomic<UInt64>(0)

    /// - Throws: `TransferFailure` when libcurl cannot be set up.
    public init(reactor: Reactor, configuration: TransferConfiguration = TransferConfiguration()) throws {
        self.reactor = reactor
        driver = try TransferDriver(reactor: reactor, configuration: configuration)
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
            reactor.submit { driver.cancel(id) }
        }
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

    /// Ends the transfer: the connection is closed, or the HTTP/2 stream reset, as soon as the reactor's thread is free. `end(.cancelled)`
    /// follows, unless it had ended by then; calls that were under way may come before it. Any thread; idempotent.
    public func cancel() { stop() }
}

/// A timer set with `TransferPool.schedule`. Belongs to the thread on which handlers are called.
public struct TransferAlarm {
    fileprivate let timer: TimerHandle

    /// Takes it back. Harmless when it has fired.
    public func cancel() { timer.cancel() }
}
