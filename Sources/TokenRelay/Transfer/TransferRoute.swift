import OutboundHTTP

/// The driver for the requests to a provider, with its options.
public enum TransferRoute: Sendable, Equatable {
    /// The fast driver: HTTP/1.1, plain or over TLS, without a proxy.
    case direct
    /// libcurl, for proxies, HTTP/2 and client certificates.
    case libcurl(LibcurlOptions)
}

/// The options of libcurl for the requests to a provider.
public struct LibcurlOptions: Sendable, Equatable {
    /// Nil: without a proxy.
    var proxy: Proxy?
    var version: HTTPVersion
    var certificate: ClientCertificate?
}

/// The part of a provider's configuration that decides its route: proxy, HTTP version, client certificate.
public struct TransferNeeds: Sendable, Equatable {
    public typealias Version = HTTPVersion
    public typealias ProxyAuthentication = OutboundHTTP.ProxyAuthentication

    public enum ProxySetting: Sendable, Equatable {
        /// By the environment variables `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy`.
        case environment
        case none
        /// This proxy instead of the environment's.
        case url(String)
    }

    public var proxy = ProxySetting.environment
    public var proxyAuthentication = ProxyAuthentication.basic
    /// PEM file of the certificate authorities to trust for an `https` proxy; nil: the system's.
    public var proxyAuthorityFile: String?
    public var version = Version.http1
    /// The TLS client certificate.
    public var certificate: TransferCertificate?

    public init() {}
}

/// No route can be made, because a provider's configuration, its client certificate or the environment is invalid or contradictory. The
/// description names the variable; it does not quote the proxy's URL, which may contain a password.
public struct UnusableRoute: Error, Equatable, CustomStringConvertible {
    public var description: String
}

extension TransferRoute {
    /// The route for all requests to a URL. Pure.
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
            guard let address = ProxyURL(text) else {
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
