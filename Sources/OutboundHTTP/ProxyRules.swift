/// Which requests go through which proxy. Pure.
public struct ProxyRules: Sendable {
    /// For `http` URLs.
    public var plain: ProxyAddress?
    /// For `https` URLs.
    public var secure: ProxyAddress?
    /// Hosts that are reached directly.
    public var exceptions = NoProxyList("")
    /// How the client proves to a proxy who it is, when the proxy's URL has credentials.
    public var authentication = ProxyAuthentication.basic
    /// PEM file of the only authorities to trust for `https` proxies; nil: those of the system.
    public var authorityFile: String?
    /// The proxies refuse private addresses themselves. Otherwise a request for `Destination.publicOnly` never goes through a proxy: only
    /// the proxy sees the address.
    public var guardPrivateAddresses = false

    /// Why the variables that are set cannot be used, by the scheme of the URLs that need them.
    private var unusable: (plain: String?, secure: String?)
    /// The variable that `exceptions` were read from.
    private var exceptionsName = "no_proxy"

    /// No proxy.
    public static let none = ProxyRules()

    /// No proxy.
    public init() {}

    /// The customary variables: `http_proxy` (in lower case only, as a CGI's `HTTP_PROXY` is a client's header; that one alone is an error),
    /// `https_proxy`, `all_proxy`, `no_proxy`. Beyond curl, names and addresses of this machine are always reached directly.
    public init(environment: [String: String]) {
        func isSet(_ name: String) -> Bool { environment[name]?.isEmpty == false }
        func proxy(_ names: String...) -> (address: ProxyAddress?, unusable: String?) {
            guard let name = names.first(where: isSet), let text = environment[name] else { return (nil, nil) }
            let address = ProxyAddress(text)
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

    /// The proxy that a request for a URL goes through; nil: directly. A proxy that is set and cannot be used is an error, never a reason to go
    /// around it.
    /// - Throws: `OutboundError` (`invalidRequest`): the URL, the variables of its scheme, or an exception is malformed. It quotes no proxy, as its URL
    ///   may hold a password.
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
