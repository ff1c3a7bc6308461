/// A proxy, its credentials, and the certificate authorities that may identify it.
public struct Proxy: Sendable, Equatable {
    public var address: ProxyURL
    /// The authentication scheme, used when the address has credentials.
    public var authentication: ProxyAuthentication
    /// PEM file of the certificate authorities to trust for an `https` proxy; nil: the system's.
    public var authorityFile: String?

    public init(_ address: ProxyURL, authentication: ProxyAuthentication = .basic, authorityFile: String? = nil) {
        self.address = address
        self.authentication = authentication
        self.authorityFile = authorityFile
    }
}

/// The authentication scheme of a client at a proxy. The raw value is its name in configurations.
public enum ProxyAuthentication: String, Sendable, CaseIterable {
    case basic
    case ntlm
    /// Kerberos by SPNEGO.
    case negotiate
}

/// A proxy's URL: `http`, `https`, `socks4`, `socks4a`, `socks5` or `socks5h`, with credentials or without. `description` and reflection do
/// not show the credentials.
public struct ProxyURL: Sendable, Equatable, CustomStringConvertible, CustomReflectable {
    let url: String
    /// The proxy's name, or its address without brackets.
    let host: String
    let port: Int
    /// Whether this client looks up the target's name (`socks4`, `socks5`); otherwise the proxy does.
    let resolvesTargetHere: Bool

    public var description: String { "\(host):\(port)" }
    public var customMirror: Mirror { Mirror(self, children: []) }

    /// Parses a URL; without a scheme it is `http`. Nil when it is malformed, or has a path or a query.
    public init?(_ text: String) {
        let url = text.contains("://") ? text : "http://\(text)"
        guard let parsed = ParsedURL(url, defaultPorts: Self.defaultPorts), parsed.isBare else { return nil }
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
