import Reactor
import Synchronization

/// The limits of a `TransferClient`.
public struct TransferConfiguration: Sendable {
    /// The most idle connections of the direct driver, over all hosts. With fewer than the usual number of concurrent transfers,
    /// connections are closed and handshakes repeated.
    public var idleConnections: Int
    /// The most concurrent transfers of libcurl; more fail at once.
    public var libcurlTransfers: Int

    public init(idleConnections: Int = 2000, libcurlTransfers: Int = 10_000) {
        self.idleConnections = idleConnections
        self.libcurlTransfers = libcurlTransfers
    }
}

/// The HTTP client of the relay: runs transfers to model providers and calls their handlers on a reactor's thread. Each request names its
/// driver (`TransferRoute`). The direct one runs on that thread: HTTP/1.1, plain or TLS 1.2 and later, with pooled connections. libcurl
/// runs on a thread of its own, which the first such transfer starts.
///
/// The peer's certificate is always verified, redirects are never followed. A request is sent a second time only when its pooled connection
/// ended without a response and it is a `GET` or the peer cannot have read it.
public final class TransferClient: Sendable {
    private struct Drivers {
        let direct: DirectDriver
        let libcurl: LibcurlDriver

        func driver(of route: TransferRoute) -> any TransferDriver {
            switch route {
            case .direct: direct
            case .libcurl: libcurl
            }
        }
    }

    private let drivers: ReactorBound<Drivers>
    private let lastID = Atomic<UInt64>(0)

    public init(reactor: Reactor, configuration: TransferConfiguration = TransferConfiguration()) {
        let drivers = Drivers(
            direct: DirectDriver(reactor: reactor, idleConnections: configuration.idleConnections),
            libcurl: LibcurlDriver(reactor: reactor, maximumTransfers: configuration.libcurlTransfers))
        self.drivers = ReactorBound(drivers, to: reactor)
    }

    deinit {
        close()
    }

    /// Starts a transfer asynchronously and returns at once. Any thread.
    public func start(_ request: TransferRequest, _ handlers: TransferHandlers) -> Transfer {
        let id = lastID.add(1, ordering: .relaxed).newValue
        let route = request.route
        drivers.submit { $0.driver(of: route).start(id, request, handlers) }
        return Transfer { [drivers] in
            // On the reactor's thread, perhaps inside a handler, the connection is closed at once and delivers nothing more.
            if drivers.reactor.isOnReactorThread { drivers.current.driver(of: route).stop(id) }
            drivers.submit { $0.driver(of: route).cancel(id) }
        }
    }

    /// Reads an authority file (nil: the system's authorities) in the background, so that the first direct transfer does not wait for it.
    /// Any thread.
    public func prepare(authorityFile: String?) {
        drivers.submit { $0.direct.tools.tlsContexts.context(authorityFile) { _ in } }
    }

    /// Cancels all transfers and closes all connections. Transfers that are started later end as cancelled. Any thread; idempotent.
    public func close() {
        drivers.submit {
            $0.direct.close()
            $0.libcurl.close()
        }
    }

    // MARK: For state that is used by handlers

    /// Confines a value to the thread on which handlers are called. Call on that thread, or directly after the value was made.
    public func bind<Value>(_ value: Value) -> TransferBound<Value> { ReactorBound(value, to: drivers.reactor) }

    /// Runs `body` once, after `delay`, on the thread on which handlers are called. Call on that thread only.
    public func schedule(after delay: Duration, _ body: @escaping () -> Void) -> TransferTimer {
        TransferTimer(timer: drivers.reactor.schedule(after: delay, body))
    }
}

/// A sendable reference to a value that is bound to the thread on which a client calls its handlers: only that thread may use it.
public typealias TransferBound<Value> = ReactorBound<Value>

/// A handle of a started transfer, to cancel it. Dropping it does not cancel the transfer.
public struct Transfer: Sendable {
    private let stop: @Sendable () -> Void

    fileprivate init(stop: @escaping @Sendable () -> Void) {
        self.stop = stop
    }

    /// Ends the transfer. On the reactor's thread the connection is closed at once, and only `end` is called after this; from other threads
    /// it is asynchronous, and `head` and `bytes` may still be called. `end(.cancelled)` follows, unless the transfer had already ended.
    /// Idempotent.
    public func cancel() { stop() }
}

/// A timer set with `TransferClient.schedule`. Use only on the thread on which handlers are called.
public struct TransferTimer {
    fileprivate let timer: TimerHandle

    /// Cancels the timer. No effect when it has fired.
    public func cancel() { timer.cancel() }
}
