import OutboundHTTP

extension Settings {
    /// Adds a finding for each URL that could not be called with the proxies of the environment, so that they are errors at start and not at
    /// the first call. A value that has a finding already gets no other.
    mutating func checkProxies(for urls: [(key: SettingKey, url: String?)], environment: [String: String]) {
        let rules = ProxyRules(environment: environment)
        for (key, url) in urls {
            guard let url, !findings.contains(where: { $0.hasPrefix("\(key.name):") }) else { continue }
            do { _ = try rules.proxy(for: url) } catch { complain(key, error.message) }
        }
    }
}
