/// Chooses the proxy of each request, by the scheme and host of its URL. Pure.
public struct ProxyRules: Sendable {
    /// For `http` URLs.
    public var plain: ProxyURL?
    /// For `https` URLs.
    public var secure: ProxyURL?
    /// Hosts that are reached without a proxy.
    public var exceptions = NoProxyList("")
    /// The authentication scheme, used when the proxy's URL has credentials.
    public var authentication = ProxyAuthentication.basic
    /// PEM file of the certificate authorities to trust for `https` proxies; nil: the system's.
    public var authorityFile: String?
    /// Whether the proxies themselves refuse private addresses. If not, a request with `DestinationPolicy.publicOnly` that needs a proxy
    /// fails: only the proxy knows the address.
    public var guardPrivateAddresses = false

    /// Why an environment variable that is set cannot be used, for `http` and for `https` URLs; nil: it can.
    private var unusable: (plain: String?, secure: String?)
    /// The variable that `exceptions` were read from.
    private var exceptionsName = "no_proxy"

    /// No proxy.
    public static let none = ProxyRules()

    public init() {}

    /// From the environment variables that curl reads: `http_proxy`, `https_proxy`, `all_proxy`, `no_proxy`. `http_proxy` is read in lower
    /// case only, because in a CGI process `HTTP_PROXY` is a header of the client; `HTTP_PROXY` alone is an error. Unlike in curl,
    /// `localhost` and loopback addresses are always reached without a proxy.
    public init(environment: [String: String]) {
        func isSet(_ name: String) -> Bool { environment[name]?.isEmpty == false }
        func proxy(_ names: String...) -> (address: ProxyURL?, unusable: String?) {
            guard let name = names.first(where: isSet), let text = environment[name] else { return (nil, nil) }
            let address = ProxyURL(text)
            return (address, address == nil ? "\(name): is no URL of a proxy, such as http://proxy.example.com:3128" : nil)
        }
        (plain, unusable.plain) = proxy("http_proxy", "all_proxy", "ALL_PROXY")
        (secure, unusable.secure) = proxy("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")
        if plain == nil, unusable.plain == nil, isSet("HTTP_PROXY") {
            unusable.plain = "HTTP_PROXY: is read in lower case only: set http_proxy"
        }
        exceptionsName = ["no_proxy", "NO_PROXY"].first(where: isSet) ?? exceptionsName
        exceptions = NoProxyList(environment[exceptionsName] ?? "", exceptsLoopback: true)
    }

    /// The proxy for a URL; nil: none. A proxy that is set but cannot be used is an error; the request is then never sent without it.
    /// - Throws: `OutboundError` (`invalidRequest`) when the URL, the variables for its scheme, or `no_proxy` is malformed. Its message
    ///   does not quote the proxy's URL, which may contain a password.
    public func proxy(for url: String, _ choice: ProxyChoice = .configured) throws(OutboundError) -> Proxy? {
        try proxy(for: TargetURL(url), choice)
    }

    func proxy(for target: TargetURL, _ choice: ProxyChoice = .configured) throws(OutboundError) -> Proxy? {
        switch choice {
        case .none: return nil
        case .use(let proxy): return proxy
        case .configured: break
        }
        let (address, unusable) = target.isSecure ? (secure, unusable.secure) : (plain, unusable.plain)
        guard address != nil || unusable != nil, !exceptions.contains(target.host, port: target.port) else { return nil }
        let malformed = exceptions.malformedEntry.map { "\(exceptionsName): '\($0)' is no name, address or network" }
        if let reason = malformed ?? unusable { throw OutboundError(.invalidRequest, "\(reason) (needed for \(target.host))") }
        return address.map { Proxy($0, authentication: authentication, authorityFile: authorityFile) }
    }
}
