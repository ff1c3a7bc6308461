/// A validated request with what follows from it and the configuration: the parsed URL, the proxy and the header lines. Pure.
struct PreparedRequest {
    let request: OutboundRequest
    let target: TargetURL
    /// Nil: without a proxy.
    let proxy: Proxy?
    /// `ProxyRules.guardPrivateAddresses`.
    private let guardsPrivateAddresses: Bool
    /// In libcurl's form (`HTTPHeader.line`).
    let headerLines: [String]
    /// Whether the request waits for a connection that is being opened, to share it over HTTP/2 (`CURLOPT_PIPEWAIT`).
    let isPipelined: Bool

    /// - Throws: `OutboundError`: `invalidRequest`, or `forbiddenAddress` when the URL has a private address or would need a proxy that
    ///   does not refuse them.
    init(_ request: OutboundRequest, _ configuration: OutboundConfiguration) throws(OutboundError) {
        self.request = request
        target = try TargetURL(request.url)
        proxy = try configuration.proxies.proxy(for: target, request.proxy)
        guardsPrivateAddresses = configuration.proxies.guardPrivateAddresses
        isPipelined = configuration.connectionsPerHost != nil
        headerLines = try Self.headerLines(request)
        try checkDestination()
    }

    /// The hosts whose addresses libcurl needs: the target's, or the proxy's, or both.
    var namesToResolve: [(host: String, port: Int)] {
        guard let proxy else { return [(target.host, target.port)] }
        return [(proxy.address.host, proxy.address.port)] + (proxy.address.resolvesTargetHere ? [(target.host, target.port)] : [])
    }

    /// Whether the request may use a connection, new or reused, to an address (nil: unknown). Always true through a proxy, because then
    /// only the proxy's address is known.
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
        // Removes libcurl's defaults: the content type of a form, and `Expect: 100-continue` before a large body.
        if !names.contains("content-type") { lines.append("Content-Type:") }
        if !names.contains("expect") { lines.append("Expect:") }
        return lines
    }
}
