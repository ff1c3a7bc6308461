import Reactor
import Synchronization

/// What a pool keeps.
public struct TransferConfiguration: Sendable {
    /// Connections kept open after their transfer, over all hosts: as many as transfers may run at once, or a crowd pays for its handshakes again.
    public var idleConnections: Int
    /// Transfers that libcurl runs at a time; more fail at once.
    public var libcurlTransfers: Int

    public init(idleConnections: Int = 2000, libcurlTransfers: Int = 10_000) {
        self.idleConnections = idleConnections
        self.libcurlTransfers = libcurlTransfers
    }
}

/// Runs HTTP transfers and calls their handlers on a reactor's thread. Each request names its driver (`TransferRoute`): the fast one runs on that
/// thread, over pooled connections, HTTP/1.1, plain or TLS 1.2 and later; libcurl runs on a thread of its own, which the first transfer starts.
///
/// The peer's certificate is always verified, redirects are never followed. Nothing is sent twice except a request on a kept connection that was
/// lost before anybody can have seen it, and a `GET` on one.
public final class TransferPool: Sendable {
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

    /// Nothing is connected yet.
    public init(reactor: Reactor, configuration: TransferConfiguration = TransferConfiguration()) {
        let drivers = Drivers(
            direct: DirectDriver(reactor: reactor, idleConnections: configuration.idleConnections),
            libcurl: LibcurlDriver(reactor: reactor, maximumTransfers: configuration.libcurlTransfers))
        self.drivers = ReactorBound(drivers, to: reactor)
    }

    deinit {
        close()
    }

    /// Starts a transfer soon; returns at once. Any thread.
    public func start(_ request: TransferRequest, _ handlers: TransferHandlers) -> Transfer {
        let id = lastID.add(1, ordering: .relaxed).newValue
        let route = request.route
        drivers.submit { $0.driver(of: route).start(id, request, handlers) }
        return Transfer { [drivers] in
            // Inside a handler the connection is closed at once: what else it has received is not handed over.
            if drivers.reactor.isOnReactorThread { drivers.current.driver(of: route).stop(id) }
            drivers.submit { $0.driver(of: route).cancel(id) }
        }
    }

    /// Reads an authority file (nil: the system's authorities) beside the reactor's thread, so that the first direct transfer need not wait for
    /// it. Any thread.
    public func prepare(authorityFile: String?) {
        drivers.submit { $0.direct.tools.trust.context(authorityFile) { _ in } }
    }

    /// Cancels all transfers, closes all connections, and refuses what comes later (it ends as cancelled). Any thread; idempotent.
    public func close() {
        drivers.submit {
            $0.direct.close()
            $0.libcurl.close()
        }
    }

    // MARK: For state that lives beside its transfers

    /// Confines a value to the thread on which handlers are called. On that thread, or directly after the value was made.
    public func bind<Value>(_ value: Value) -> TransferBound<Value> { ReactorBound(value, to: drivers.reactor) }

    /// Runs `body` once, not before `delay` has passed. Only on the thread on which handlers are called.
    public func schedule(after delay: Duration, _ body: @escaping () -> Void) -> TransferAlarm {
        TransferAlarm(timer: drivers.reactor.schedule(after: delay, body))
    }
}

/// A value that belongs to the thread on which a pool calls its handlers.
public typealias TransferBound<Value> = ReactorBound<Value>

/// A transfer that was started.
public struct Transfer: Sendable {
    private let stop: @Sendable () -> Void

    fileprivate init(stop: @escaping @Sendable () -> Void) {
        self.stop = stop
    }

    /// Ends the transfer. On the reactor's thread the connection is closed at once and nothing more is handed over; on others, as soon as that
    /// thread is free, and calls that were under way may come before. `end(.cancelled)` follows, unless it had ended by then. Idempotent.
    public func cancel() { stop() }
}

/// A timer set with `TransferPool.schedule`. Belongs to the thread on which handlers are called.
public struct TransferAlarm {
    fileprivate let timer: TimerHandle

    /// Cancels the timer. Harmless when it has fired.
    public func cancel() { timer.cancel() }
}
