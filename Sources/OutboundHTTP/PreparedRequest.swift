/// A request that was found possible: where it goes, through what, and with which header lines. Pure.
struct PreparedRequest {
    let request: OutboundRequest
    let target: TargetURL
    /// nil: directly.
    let proxy: Proxy?
    private let guardsPrivateAddresses: Bool
    let headerLines: [String]
    let isPipelined: Bool

    init(_ request: OutboundRequest, _ configuration: OutboundConfiguration) throws(OutboundError) {
        self.request = request
        target = try TargetURL(request.url)
        proxy = try configuration.proxies.proxy(for: target, request.proxy)
        guardsPrivateAddresses = configuration.proxies.guardPrivateAddresses
        isPipelined = configuration.connectionsPerHost != nil
        headerLines = try Self.headerLines(request)
        try checkDestination()
    }

    /// Names whose addresses libcurl will need.
    var namesToResolve: [(host: String, port: Int)] {
        guard let proxy else { return [(target.host, target.port)] }
        return [(proxy.address.host, proxy.address.port)] + (proxy.address.resolvesTargetHere ? [(target.host, target.port)] : [])
    }

    /// Whether a connection may be made to the address, or used that was made before. Through a proxy, only the proxy's address is seen.
    func mayConnect(to address: IPAddress?) -> Bool {
        guard case .publicOnly = request.destination, proxy == nil else { return true }
        return address?.isPublic ?? false
    }

    static func forbidden(_ host: String) -> OutboundError {
        OutboundError(.forbiddenAddress, "\(host) is not reached by an address of the public internet")
    }

    private func checkDestination() throws(OutboundError) {
        guard case .publicOnly = request.destination else { return }
        if let address = IPAddress(target.host), !address.isPublic { throw Self.forbidden(target.host) }
        guard proxy == nil || guardsPrivateAddresses else {
            throw OutboundError(
                .forbiddenAddress, "\(target.host) would be reached through a proxy, which is not known to refuse private addresses")
        }
    }

    private static func headerLines(_ request: OutboundRequest) throws(OutboundError) -> [String] {
        var lines: [String] = []
        for header in request.headers {
            guard let line = header.line else { throw OutboundError(.invalidRequest, "a header field is malformed") }
            lines.append(line)
        }
        let names = Set(request.headers.map { $0.name.lowercased() })
        // libcurl's own: it would announce a form, and wait for 100-continue before a large body.
        if !names.contains("content-type") { lines.append("Content-Type:") }
        if !names.contains("expect") { lines.append("Expect:") }
        return lines
    }
}
