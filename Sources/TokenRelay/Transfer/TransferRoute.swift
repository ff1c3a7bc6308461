import OutboundHTTP

/// Which driver carries the requests to a provider, and what that driver needs to know.
public enum TransferRoute: Sendable, Equatable {
    /// The fast driver.
    case direct
    /// libcurl, for proxies, HTTP/2 and client certificates.
    case libcurl(LibcurlOptions)
}

/// How libcurl reaches a provider.
public struct LibcurlOptions: Sendable, Equatable {
    /// nil: directly.
    var proxy: Proxy?
    var version: HTTPVersion
    var certificate: ClientCertificate?
}

/// What reaching a provider needs beyond TCP, TLS and HTTP/1.1, by its configuration.
public struct TransferNeeds: Sendable, Equatable {
    public typealias Version = HTTPVersion
    public typealias ProxyAuthentication = OutboundHTTP.ProxyAuthentication

    public enum ProxySetting: Sendable, Equatable {
        /// What `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy` say.
        case environment
        case none
        /// This one, in place of the environment's.
        case url(String)
    }

    public var proxy = ProxySetting.environment
    public var proxyAuthentication = ProxyAuthentication.basic
    /// PEM file of the only authorities to trust for an `https` proxy; nil: those of the system.
    public var proxyAuthorityFile: String?
    public var version = Version.http1
    /// What proves to the provider who we are.
    public var certificate: TransferCertificate?

    /// Nothing beyond.
    public init() {}
}

/// Why a provider cannot be reached as its configuration or the environment wants it. Names the variable, and quotes no proxy, as its address may hold
/// a password.
public struct UnusableRoute: Error, Equatable, CustomStringConvertible {
    public var description: String
}

extension TransferRoute {
    /// Decides the driver for all requests to an address, once. Pure.
    public static func decide(
        for url: String, _ needs: TransferNeeds, environment: [String: String]
    ) throws(UnusableRoute) -> TransferRoute {
        let isSecure = url.lowercased().hasPrefix("https:")
        guard isSecure || needs.version == .http1 else { throw UnusableRoute(description: "HTTP/2 needs an https address") }
        guard isSecure || needs.certificate == nil else { throw UnusableRoute(description: "a client certificate needs an https address") }
        let proxy = try proxy(for: url, needs, environment)
        if proxy == nil, needs.version == .http1, needs.certificate == nil { return .direct }
        return .libcurl(LibcurlOptions(proxy: proxy, version: needs.version, certificate: needs.certificate?.certificate))
    }

    private static func proxy(
        for url: String, _ needs: TransferNeeds, _ environment: [String: String]
    ) throws(UnusableRoute) -> Proxy? {
        switch needs.proxy {
        case .none: return nil
        case .url(let text):
            guard let address = ProxyAddress(text) else {
                throw UnusableRoute(description: "is no URL of a proxy, such as http://proxy.example.com:3128")
            }
            return Proxy(address, authentication: needs.proxyAuthentication, authorityFile: needs.proxyAuthorityFile)
        case .environment:
            var rules = ProxyRules(environment: environment)
            rules.authentication = needs.proxyAuthentication
            rules.authorityFile = needs.proxyAuthorityFile
            do { return try rules.proxy(for: url) } catch { throw UnusableRoute(description: error.message) }
        }
    }
}
