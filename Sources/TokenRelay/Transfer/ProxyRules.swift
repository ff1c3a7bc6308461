/// Which proxy an origin is reached through, by the customary variables: `http_proxy` (in lower case only, as a CGI's `HTTP_PROXY` is a
/// client's header), `https_proxy`, `all_proxy`, `no_proxy`. A proxy that is set and cannot be used is an error, never a reason to go around
/// it. Pure.
struct ProxyRules {
    /// Why an origin cannot be reached as the environment wants it; names the variable, and quotes nothing, as a proxy's address holds a password.
    struct Unusable: Error, Equatable, CustomStringConvertible {
        var description: String
    }

    private enum Setting {
        case none
        case proxy(Proxy)
        case unusable(Unusable)
    }

    private var plain: Setting
    private var secure: Setting
    private var exceptions: [ProxyException] = []
    private var malformedException: Unusable?

    /// No proxy.
    static let none = ProxyRules(environment: [:])

    init(environment: [String: String]) {
        func setting(_ names: String...) -> Setting {
            for name in names {
                if let text = environment[name], !text.isEmpty { return Self.setting(name, text) }
            }
            return .none
        }
        plain = setting("http_proxy", "all_proxy", "ALL_PROXY")
        secure = setting("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")
        if case .none = plain, environment["HTTP_PROXY"]?.isEmpty == false {
            plain = .unusable(Unusable(description: "HTTP_PROXY is read in lower case only: set http_proxy"))
        }
        let name = environment["no_proxy"] == nil ? "NO_PROXY" : "no_proxy"
        for entry in (environment[name] ?? "").lowercased().split(whereSeparator: { $0 == "," || $0 == " " || $0 == "\t" }) {
            if let exception = ProxyException(String(entry)) {
                exceptions.append(exception)
            } else {
                malformedException = Unusable(description: "\(name): '\(entry)' is no name, address or network")
            }
        }
    }

    /// nil: directly.
    func proxy(for origin: Origin) -> Result<Proxy?, Unusable> {
        let setting = origin.isSecure ? secure : plain
        if case .none = setting { return .success(nil) }
        guard !origin.isLoopback, !exceptions.contains(where: { $0.covers(origin) }) else { return .success(nil) }
        // What it was meant to except is unknown.
        if let malformedException { return .failure(malformedException) }
        switch setting {
        case .none: return .success(nil)
        case .proxy(let proxy): return .success(proxy)
        case .unusable(let reason): return .failure(reason)
        }
    }

    private static func setting(_ name: String, _ text: String) -> Setting {
        let scheme = text.firstRange(of: "://").map { text[..<$0.lowerBound].lowercased() } ?? "http"
        guard scheme == "http" else {
            return .unusable(Unusable(description: "\(name): a proxy of kind '\(scheme)' is not supported, only http"))
        }
        guard let address = TransferAddress(text.contains("://") ? text : "http://\(text)"), address.target == "/" else {
            return .unusable(Unusable(description: "\(name): is no address of a proxy, such as http://proxy.example.com:3128"))
        }
        return .proxy(
            Proxy(host: address.origin.host, port: address.origin.port, credentials: address.credentials.map(Self.decode)))
    }

    private static func decode(_ text: String) -> String {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) {
                bytes.append(value)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension TransferConfiguration {
    /// What keeps these addresses from being reached, one line each: proxies that are set and cannot be used.
    public func findings(for urls: [String]) -> [String] {
        let rules = ProxyRules(environment: proxyEnvironment)
        return urls.compactMap { url in
            guard let origin = TransferAddress(url)?.origin, case .failure(let reason) = rules.proxy(for: origin) else { return nil }
            return "\(reason) (needed for \(origin.authority(withDefaultPort: false)))"
        }
    }
}
