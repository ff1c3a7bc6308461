import HTTPTypes

/// The proxies whose `Forwarded`, `X-Forwarded-For` and PROXY headers are trusted (`COACH_TRUSTED_PROXIES`).
public struct TrustedProxies: Sendable, Equatable {
    private let blocks: [AddressBlock]

    public init(_ blocks: [AddressBlock] = []) { self.blocks = blocks }

    func contains(_ address: NetworkAddress) -> Bool { blocks.contains { $0.contains(address) } }

    /// The client's address: the last hop that is not a trusted proxy. Earlier hops are ignored, because the client can invent them. If a
    /// hop is not an address, the result is the proxy that reported it.
    func client(peer: NetworkAddress, headers: HTTPFields) -> NetworkAddress {
        var client = peer
        var hops = ForwardedFor(headers)
        while contains(client), case let hop?? = hops.next() { client = hop }
        return client
    }
}
