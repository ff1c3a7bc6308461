/// A proxy, and how a client is known to it.
public struct Proxy: Sendable, Equatable {
    public var address: ProxyAddress
    /// How the client proves who it is, when the address has credentials.
    public var authentication: ProxyAuthentication
    /// PEM file of the only authorities to trust for an `https` proxy; nil: those of the system.
    public var authorityFile: String?

    public init(_ address: ProxyAddress, authentication: ProxyAuthentication = .basic, authorityFile: String? = nil) {
        self.address = address
        self.authentication = authentication
        self.authorityFile = authorityFile
    }
}

/// How a client proves to a proxy who it is.
public enum ProxyAuthentication: String, Sendable, CaseIterable {
    case basic
    case ntlm
    /// Kerberos by SPNEGO.
    case negotiate
}

/// A proxy's URL: `http`, `https`, `socks4`, `socks4a`, `socks5`, `socks5h`, with credentials or without. Nothing prints the credentials.
public struct ProxyAddress: Sendable, Equatable, CustomStringConvertible, CustomReflectable {
    let url: String
    /// Of the proxy; a name, or an address without brackets.
    let host: String
    let port: Int
    /// The client looks the target's name up, and not the proxy.
    let resolvesTargetHere: Bool
    public let hasCredentials: Bool

    public var description: String { "\(host):\(port)" }
    public var customMirror: Mirror { Mirror(self, children: []) }

    /// `http` when there is no scheme. nil: not such a URL.
    public init?(_ text: String) {
        let url = text.contains("://") ? text : "http://\(text)"
        guard let parsed = ParsedURL(url, defaultPorts: Self.defaultPorts), parsed.isBare else { return nil }
        self.url = url
        host = parsed.host
        port = parsed.port
        hasCredentials = parsed.hasCredentials
        resolvesTargetHere = parsed.scheme == "socks4" || parsed.scheme == "socks5"
    }

    /// libcurl's defaults.
    private static let defaultPorts = [
        "http": 1080, "https": 443, "socks4": 1080, "socks4a": 1080, "socks5": 1080, "socks5h": 1080,
    ]
}
