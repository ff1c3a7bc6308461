import HTTPTypes
import Hummingbird
import NIOCore
import Synchronization

/// Limits requests without a valid token, by the client's address. Requests with a valid token and verified webhooks are not counted,
/// because many users can share an address.
public final class UnauthenticatedRequestLimiter: Sendable {
    private let proxies: TrustedProxies
    private let exemptsLoopback: Bool
    private let perMinute: @Sendable () -> Int?
    private let limiter = Mutex(AddressLimiter())

    /// - Parameters:
    ///   - exemptsLoopback: does not limit clients on this machine; for development.
    ///   - perMinute: the limit of one address, read for each request; nil: no limit.
    public init(proxies: TrustedProxies = TrustedProxies(), exemptsLoopback: Bool, perMinute: @escaping @Sendable () -> Int?) {
        self.proxies = proxies
        self.exemptsLoopback = exemptsLoopback
        self.perMinute = perMinute
    }

    /// Whether the peer of a connection is a trusted proxy.
    func trusts(_ peer: SocketAddress?) -> Bool { peer.flatMap(NetworkAddress.init).map(proxies.contains) ?? false }

    /// Counts a request. Throws `BIZ_2010` when its address has reached the limit.
    func count(_ headers: HTTPFields, from channel: any Channel) async throws(GatewayError) {
        try await limit(headers, channel) { $0.take($1, perMinute: $2, now: .now) }
    }

    /// Throws `BIZ_2010` when the address of a request has reached the limit. Does not count it: for a request that costs work before it is known
    /// whether it counts.
    func check(_ headers: HTTPFields, from channel: any Channel) async throws(GatewayError) {
        try await limit(headers, channel) { $0.wait(of: $1, perMinute: $2, now: .now) }
    }

    /// - Parameter wait: the seconds until the address is allowed its next request; nil when it is now.
    private func limit(
        _ headers: HTTPFields, _ channel: any Channel, _ wait: (inout AddressLimiter, NetworkAddress, Int) -> Int?
    ) async throws(GatewayError) {
        guard let perMinute = perMinute(), let peer = await peer(of: channel) else { return }
        let client = proxies.client(peer: peer, headers: headers)
        guard !(exemptsLoopback && client.isLoopback) else { return }
        guard let seconds = limiter.withLock({ wait(&$0, client.subscriber, perMinute) }) else { return }
        throw GatewayError(.rateLimited, "too many requests without a valid token from this address", retryAfter: seconds, limit: .address)
    }

    /// The peer of the connection, or the client in its PROXY header. Nil for Unix sockets and closed connections.
    private func peer(of channel: any Channel) async -> NetworkAddress? {
        let named = try? await channel.eventLoop.submit {
            try channel.pipeline.syncOperations.handler(type: ProxyHeaderHandler.self).source
        }.get()
        return named ?? channel.remoteAddress.flatMap(NetworkAddress.init)
    }
}

/// Counts the requests of an open route against the limit of their address.
struct AddressLimitMiddleware: RouterMiddleware {
    let unauthenticated: UnauthenticatedRequestLimiter
    let counted: AddressLimit

    func handle(_ request: Request, context: GatewayContext, next: @concurrent (Request, GatewayContext) async throws -> Response)
        async throws -> Response
    {
        switch counted {
        case .everyRequest:
            try await unauthenticated.count(request.headers, from: context.channel)
            return try await next(request, context)
        case .unverified:
            do {
                return try await next(request, context)
            } catch let error as GatewayError where error.code == .unauthenticated {
                try await unauthenticated.count(request.headers, from: context.channel)
                throw error
            }
        case .none: return try await next(request, context)
        }
    }
}

/// Which requests of an open route count against the limit of their address.
public enum AddressLimit: Sendable {
    case everyRequest
    /// Those that the handler rejects as unauthenticated.
    case unverified
    case none
}
