import Testing

@testable import TokenRelay

@Suite("Which proxy is used")
struct ProxyRulesTests {
    private func proxy(_ url: String, _ environment: [String: String]) throws -> Proxy? {
        try ProxyRules(environment: environment).proxy(for: try #require(TransferAddress(url)).origin).get()
    }

    @Test("the customary variables choose the proxy")
    func variables() throws {
        let rules = ["http_proxy": "p:1", "HTTPS_PROXY": "http://u:p%40ss@q:2", "no_proxy": "example.com, .internal"]
        #expect(try proxy("http://a/", rules) == Proxy(host: "p", port: 1))
        #expect(try proxy("https://a/", rules) == Proxy(host: "q", port: 2, credentials: "u:p@ss"))
        #expect(try proxy("https://api.example.com/", rules) == nil)
        #expect(try proxy("https://notexample.com/", rules) != nil)
        #expect(try proxy("http://x.internal/", rules) == nil)
        #expect(try proxy("http://127.0.0.1/", rules) == nil)
        #expect(try proxy("http://a/", ["ALL_PROXY": "r:3", "HTTP_PROXY": "evil:1"])?.host == "r")
        #expect(try proxy("http://a/", ["ALL_PROXY": "r:3", "NO_PROXY": "*"]) == nil)
        #expect(try proxy("http://a/", ["all_proxy": "", "https_proxy": "p:1"]) == nil)
    }

    @Test(
        "no_proxy excepts names, ports, addresses and networks",
        arguments: [
            ("example.com", "https://api.example.com/", true), ("*.example.com", "https://api.example.com/", true),
            ("example.com:443", "https://example.com/", true), ("example.com:8443", "https://example.com/", false),
            ("example.com:8443", "https://example.com:8443/", true), ("10.0.0.0/8", "https://10.200.3.4/", true),
            ("10.0.0.0/8", "https://11.0.0.1/", false), ("10.1.2.3", "https://10.1.2.3/", true), ("10.1.2.3", "https://10.1.2.30/", false),
            ("10.1.2.3:443", "https://10.1.2.3/", true), ("10.1.2.3:80", "https://10.1.2.3/", false),
            ("192.168.10.0/23", "https://192.168.11.255/", true), ("192.168.10.0/23", "https://192.168.12.0/", false),
            ("fd00::/8", "https://[fd12::1]/", true), ("fd00::/8", "https://[fe80::1]/", false), ("fd00::/8", "https://10.0.0.1/", false),
            ("[fd00::1]:443", "https://[fd00:0::1]/", true), ("0.0.0.0/0", "https://10.0.0.1/", true),
            ("10.0.0.0/8", "https://ten.example.com/", false),
        ])
    func exceptions(_ exception: String, _ url: String, _ isDirect: Bool) throws {
        for list in [exception, "other.example, \(exception)", "\(exception.uppercased()),x"] {
            #expect(try (proxy(url, ["https_proxy": "p:1", "NO_PROXY": list]) == nil) == isDirect, "\(list)")
        }
    }

    @Test(
        "what is set and cannot be used is an error, and never a reason to go around it",
        arguments: [
            ["https_proxy": "socks5://p:1080"], ["https_proxy": "https://p:1"], ["ALL_PROXY": "socks5h://u:secret@p:1080"],
            ["https_proxy": "http://"], ["https_proxy": "http://p:x"], ["https_proxy": "p:1/path"], ["https_proxy": "p p"],
            ["https_proxy": "p:1", "no_proxy": "10.0.0.0/33"], ["https_proxy": "p:1", "no_proxy": "10.0.0/8"],
            ["https_proxy": "p:1", "no_proxy": "a:99999"], ["https_proxy": "p:1", "no_proxy": "a,http://b"],
        ])
    func unusable(_ environment: [String: String]) throws {
        #expect(throws: ProxyRules.Unusable.self) { try proxy("https://api.example.com/", environment) }
        let findings = TransferConfiguration(proxyEnvironment: environment).findings(for: [
            "https://api.example.com/v1", "http://127.0.0.1:1",
        ])
        #expect(findings.count == 1 && findings[0].contains("api.example.com") && !findings[0].contains("secret"), "\(findings)")
        // This machine is reached without one.
        #expect(try proxy("https://localhost/", environment) == nil)
    }

    @Test("HTTP_PROXY alone is not read, and not passed over either")
    func upperCase() throws {
        #expect(throws: ProxyRules.Unusable.self) { try proxy("http://a/", ["HTTP_PROXY": "p:1"]) }
        #expect(try proxy("https://a/", ["HTTP_PROXY": "p:1"]) == nil)
    }

    @Test("a request that cannot go through its proxy is not sent")
    func notSent() async throws {
        let bench = try PoolBench(TransferConfiguration(proxyEnvironment: ["http_proxy": "socks5://127.0.0.1:1"]))
        #expect(try await bench.end(of: TransferRequest(url: "http://192.0.2.1/")) == .failed(.init(kind: .request)))
    }
}
