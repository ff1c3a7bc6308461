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

    /// The variables that are set and hold no proxy's URL.
    private var unusable: (plain: String?, secure: String?)

    /// No proxy.
    public static let none = ProxyRules()

    /// No proxy.
    public init() {}

    /// The customary variables as curl reads them: `http_proxy` (in lower case only, as a CGI's `HTTP_PROXY` is a client's header),
    /// `https_proxy`, `all_proxy`, `no_proxy`. Beyond curl, names and addresses of this machine are always reached directly.
    public init(environment: [String: String]) {
        func isSet(_ name: String) -> Bool { environment[name]?.isEmpty == false }
        func proxy(_ names: String...) -> (address: ProxyAddress?, unusable: String?) {
            guard let name = names.first(where: isSet), let text = environment[name] else { return (nil, nil) }
            let address = ProxyAddress(text)
            return (address, address == nil ? name : nil)
        }
        (plain, unusable.plain) = proxy("http_proxy", "all_proxy", "ALL_PROXY")
        (secure, unusable.secure) = proxy("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")
        exceptions = NoProxyList(
            ["no_proxy", "NO_PROXY"].first(where: isSet).flatMap { environment[$0] } ?? "", exceptsLoopback: true)
    }

    /// nil: directly. A proxy that is set and cannot be used is an error, never a reason to go around it.
    func proxy(for target: TargetURL) throws(OutboundError) -> ProxyAddress? {
        guard !exceptions.contains(target.host) else { return nil }
        if let name = target.isSecure ? unusable.secure : unusable.plain {
            throw OutboundError(.invalidRequest, "\(name) is no URL of a proxy, such as http://proxy.example.com:3128")
        }
        return target.isSecure ? secure : plain
    }
}

/// How a client proves to a proxy who it is.
public enum ProxyAuthentication: Sendable {
    case basic
    case ntlm
    /// Kerberos by SPNEGO.
    case negotiate
}

/// A proxy's URL: `http`, `https`, `socks4`, `socks4a`, `socks5`, `socks5h`, with credentials or without.
public struct ProxyAddress: Sendable, Equatable {
    let url: String
    /// Of the proxy; a name, or an address without brackets.
    let host: String
    let port: Int
    /// The client looks the target's name up, and not the proxy.
    let resolvesTargetHere: Bool

    /// `http` when there is no scheme. nil: not such a URL.
    public init?(_ text: String) {
        let url = text.contains("://") ? text : "http://\(text)"
        guard let parsed = ParsedURL(url, defaultPorts: Self.defaultPorts) else { return nil }
        self.url = url
        host = parsed.host
        port = parsed.port
        resolvesTargetHere = parsed.scheme == "socks4" || parsed.scheme == "socks5"
    }

    /// libcurl's defaults.
    private static let defaultPorts = [
        "http": 1080, "https": 443, "socks4": 1080, "socks4a": 1080, "socks5": 1080, "socks5h": 1080,
    ]
}
