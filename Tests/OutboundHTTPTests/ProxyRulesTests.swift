import Foundation
import TestSupport
import Testing

@testable import OutboundHTTP

@Suite("Proxy rules")
struct ProxyRulesTests {
    private func proxy(_ url: String, _ environment: [String: String]) throws -> String? {
        try ProxyRules(environment: environment).proxy(for: try TargetURL(url)).map { "\($0.address)" }
    }

    @Test("the environment variables choose the proxy by scheme and host")
    func variables() throws {
        let both = ["http_proxy": "http://p:1", "HTTPS_PROXY": "s:2", "no_proxy": "c.test,.d.test"]
        #expect(try proxy("http://a.test/", both) == "p:1")
        #expect(try proxy("https://a.test/", both) == "s:2")
        #expect(try proxy("https://c.test/", both) == nil)
        #expect(try proxy("https://x.d.test/", both) == nil)
        #expect(try proxy("http://a.test/", ["http_proxy": "", "ALL_PROXY": "socks5h://[::1]:9"]) == "::1:9")
        #expect(try proxy("http://127.0.0.1/", both) == nil)
        #expect(try proxy("http://localhost/", both) == nil)
    }

    @Test("an unusable proxy is an error, except for hosts in no_proxy")
    func unusable() throws {
        let environment = ["http_proxy": "ftp://p:1", "no_proxy": "b.test"]
        #expect(throws: OutboundError.self) { try proxy("http://a.test/", environment) }
        #expect(try proxy("http://b.test/", environment) == nil)
        #expect(try proxy("https://a.test/", environment) == nil)
    }

    @Test(
        "a malformed variable is an error that quotes no password; the request is not sent without the proxy",
        arguments: [
            ["https_proxy": "ftp://u:secret@p:1"], ["https_proxy": "http://"], ["https_proxy": "http://u:secret@p:x"],
            ["https_proxy": "p:1/path"], ["ALL_PROXY": "p p"], ["https_proxy": "p:1", "no_proxy": "10.0.0.0/33"],
            ["https_proxy": "p:1", "no_proxy": "10.0.0/8"], ["https_proxy": "p:1", "no_proxy": "a:99999"],
            ["https_proxy": "p:1", "no_proxy": "a,http://b"],
        ])
    func malformed(_ environment: [String: String]) throws {
        let error = #expect(throws: OutboundError.self) { try proxy("https://a.test/", environment) }
        #expect(error?.code == .invalidRequest && error?.message.contains("secret") == false && error?.message.contains("a.test") == true)
        // Loopback addresses never use a proxy.
        #expect(try proxy("https://localhost/", environment) == nil)
    }

    @Test("HTTP_PROXY without http_proxy is an error")
    func upperCase() throws {
        #expect(throws: OutboundError.self) { try proxy("http://a.test/", ["HTTP_PROXY": "p:1"]) }
        #expect(try proxy("https://a.test/", ["HTTP_PROXY": "p:1"]) == nil)
        #expect(try proxy("http://a.test/", ["HTTP_PROXY": "evil:1", "http_proxy": "p:1"]) == "p:1")
    }

    @Test("a description of a proxy never contains its password")
    func secret() throws {
        let address = try #require(ProxyURL("http://u:secret@p:1"))
        var dumped = ""
        dump(Proxy(address), to: &dumped)
        for text in ["\(address)", String(reflecting: address), dumped] { #expect(!text.contains("secret"), "\(text)") }
    }

    @Test("default ports are curl's")
    func ports() throws {
        #expect(ProxyURL("p")?.port == 1080)
        #expect(ProxyURL("https://p")?.port == 443)
        #expect(ProxyURL("socks5h://u:p@p")?.port == 1080)
    }

    private static let lists = [
        "*", "test", ".test", "a.test", "a.test.", "b.test", "A.TEST", "a.test,b.test", "b.test a.test", " , ,a.test", "est", ".a.test",
        "a.test:9400", "10.1.2.3", "10.1.0.0/16", "10.1.2.3/32", "10.0.0.0/8", "10.2.0.0/16", "10.1.2.3/33", "fd00::1", "",
    ]
    private static let hosts = ["a.test", "x.a.test", "ba.test", "a.test.", "10.1.2.3", "[fd00::1]"]

    @Test(
        "no_proxy supports ports, *. and IPv6 networks, which curl does not, and /0 matches every address",
        arguments: [
            ("*.example.com", "https://api.example.com/", true), ("example.com:443", "https://example.com/", true),
            ("example.com:8443", "https://example.com/", false), ("example.com:8443", "https://example.com:8443/", true),
            ("10.1.2.3:443", "https://10.1.2.3/", true), ("10.1.2.3:80", "https://10.1.2.3/", false),
            ("[fd00::1]:443", "https://[fd00:0::1]/", true), ("[fd00::1]:80", "https://[fd00::1]/", false),
            ("192.168.10.0/23", "https://192.168.11.255/", true), ("192.168.10.0/23", "https://192.168.12.0/", false),
            ("fd00::/8", "https://[fd12::1]/", true), ("fd00::/9", "https://[fd80::1]/", false), ("fd00::/8", "https://10.0.0.1/", false),
            ("0.0.0.0/0", "https://10.0.0.1/", true), ("10.0.0.0/8", "https://ten.example.com/", false),
        ])
    func extensions(_ exception: String, _ url: String, _ isDirect: Bool) throws {
        for list in [exception, "other.example, \(exception)", "\(exception.uppercased()),x"] {
            #expect(try (proxy(url, ["https_proxy": "p:1", "NO_PROXY": list]) == nil) == isDirect, "\(list)")
        }
    }

    @Test("no_proxy matches the same hosts as curl", arguments: lists)
    func noProxy(list: String) throws {
        // The proxy is a closed local port, and every target another one: the port that was tried shows what curl decided.
        let text = try ChildProcess.run(
            ["curl", "-q", "-sv", "--max-time", "5", "-x", "http://127.0.0.1:1", "--noproxy", list, "--connect-to", "::127.0.0.2:1"]
                + Self.hosts.map { "http://\($0)/" }, output: .null, errors: .pipe, mayFail: true)
        let direct = text.split(separator: "\n").filter { $0.contains("Trying ") }.map { $0.contains("127.0.0.2:1") }
        let ours = try Self.hosts.map { NoProxyList(list).contains(try TargetURL("http://\($0)/").host, port: 80) }
        #expect(ours == direct, "\(Self.hosts)")
    }
}
