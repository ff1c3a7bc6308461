import Reactor
import Synchronization

/// Sends HTTP requests with libcurl on a thread of its own: HTTP/1.1 and HTTP/2, proxies, client certificates.
///
/// Certificates are always verified (TLS 1.2 or later), redirects are never followed, every response is bounded. Nothing is
/// retried but what libcurl sends again on a new connection, see `OutboundRequest.mayBeSentTwice`.
public final class OutboundHTTPClient: Sendable {
    private let driver: ReactorBound<TransferDriver>
    private let lastID = Atomic<UInt64>(0)

    /// Starts the client's thread.
    /// - Parameter lookUp: finds a name's addresses; blocks, on a helper thread.
    /// - Throws: `OutboundError` or `ReactorError`, when the process has no descriptors or memory left.
    public init(
        _ configuration: OutboundConfiguration = OutboundConfiguration(),
        lookUp: @escaping NameCache.Resolver = { NameLookup.addresses(of: $0) }
    ) throws {
        let reactor = try Reactor(name: configuration.name)
        driver = ReactorBound(
            try TransferDriver(reactor: reactor, configuration: configuration, names: NameCache(reactor: reactor, lookUp: lookUp)),
            to: reactor)
        reactor.start()
    }

    deinit {
        shutDown()
    }

    /// Ends all requests with `shutDown`, closes all connections, and ends the thread. Later requests end with `shutDown`. Any thread;
    /// idempotent; waits for what handlers are doing.
    public func shutDown() {
        driver.submit { $0.close() }
        driver.reactor.stop()
    }

    /// Sends a request and calls `handlers` while the response arrives. Returns at once. Any thread.
    public func start(_ request: OutboundRequest, _ handlers: OutboundHandlers) -> OutboundTransfer {
        let id = lastID.add(1, ordering: .relaxed).newValue
        driver.submit { $0.start(id, request, handlers) }
        return OutboundTransfer(id: id, driver: driver)
    }
}

/// A request that was started.
public struct OutboundTransfer: Sendable {
    fileprivate let id: UInt64
    fileprivate let driver: ReactorBound<TransferDriver>

    /// Ends the request; its connection is closed as soon as the client's thread is free. `end` with `cancelled` follows, unless it had ended
    /// by then; calls that were under way may come before it. Any thread; idempotent.
    public func cancel() { driver.submit { [id] in $0.cancel(id) } }

    /// Goes on after `ReceiveDemand.pause`. Any thread; harmless otherwise.
    public func resume() { driver.submit { [id] in $0.resume(id) } }
}
