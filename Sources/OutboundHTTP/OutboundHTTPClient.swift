import Reactor
import Synchronization

/// An HTTP client on libcurl, which runs on a thread of its own: HTTP/1.1 and HTTP/2, proxies, client certificates.
///
/// Certificates are always verified (TLS 1.2 or later), redirects are never followed, every response is bounded. It retries nothing, except
/// that libcurl may send a request again on a new connection; see `OutboundRequest.mayBeSentTwice`.
public final class OutboundHTTPClient: Sendable {
    private let driver: ReactorBound<OutboundHTTPClientDriver>
    private let lastID = Atomic<UInt64>(0)

    /// Starts the client's thread.
    /// - Parameter lookUp: looks a name up; called on a helper thread, may block.
    /// - Throws: `OutboundError` or `ReactorError`, when the process has no descriptors or memory left.
    public init(
        _ configuration: OutboundConfiguration = OutboundConfiguration(),
        lookUp: @escaping NameCache.Resolver = { NameLookup.addresses(of: $0) }
    ) throws {
        let reactor = try Reactor(name: configuration.name)
        driver = ReactorBound(
            try OutboundHTTPClientDriver(
                reactor: reactor, configuration: configuration, names: NameCache(reactor: reactor, lookUp: lookUp)),
            to: reactor)
        reactor.start()
    }

    deinit {
        shutDown()
    }

    /// Fails all running and later requests with `shutDown`, closes all connections, and ends the thread. Waits for running handlers. Any
    /// thread; idempotent.
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

/// A handle of a started request, to cancel or resume it. Dropping it does not cancel the request.
public struct OutboundTransfer: Sendable {
    fileprivate let id: UInt64
    fileprivate let driver: ReactorBound<OutboundHTTPClientDriver>

    /// Ends the request and closes its connection, asynchronously on the client's thread. `end` with `cancelled` follows, unless the
    /// request had already ended; `head` and `bytes` may still be called before it. Any thread; idempotent.
    public func cancel() { driver.submit { [id] in $0.cancel(id) } }

    /// Continues receiving after `ReceiveDemand.pause`. No effect when the request is not paused. Any thread.
    public func resume() { driver.submit { [id] in $0.resume(id) } }
}
