import Foundation
import TestSupport
import Testing

@testable import OutboundHTTP

@Suite("Which proxy")
struct ProxyRulesTests {
    private func proxy(_ url: String, _ environment: [String: String]) throws -> String? {
        try ProxyRules(environment: environment).proxy(for: try TargetURL(url)).map { "\($0.host):\($0.port)" }
    }

    @Test("the customary variables, each for its scheme")
    func variables() throws {
        let both = ["http_proxy": "http://p:1", "HTTPS_PROXY": "s:2", "no_proxy": "c.test,.d.test"]
        #expect(try proxy("http://a.test/", both) == "p:1")
        #expect(try proxy("https://a.test/", both) == "s:2")
        #expect(try proxy("https://c.test/", both) == nil)
        #expect(try proxy("https://x.d.test/", both) == nil)
        #expect(try proxy("http://a.test/", ["HTTP_PROXY": "http://p:1"]) == nil)
        #expect(try proxy("http://a.test/", ["http_proxy": "", "ALL_PROXY": "socks5h://[::1]:9"]) == "::1:9")
        #expect(try proxy("http://127.0.0.1/", both) == nil)
        #expect(try proxy("http://localhost/", both) == nil)
    }

    @Test("a proxy that is set and cannot be used is an error, but for what is excepted")
    func unusable() throws {
        let environment = ["http_proxy": "ftp://p:1", "no_proxy": "b.test"]
        #expect(throws: OutboundError.self) { try proxy("http://a.test/", environment) }
        #expect(try proxy("http://b.test/", environment) == nil)
        #expect(try proxy("https://a.test/", environment) == nil)
    }

    @Test("ports by default are curl's")
    func ports() throws {
        #expect(ProxyAddress("p")?.port == 1080)
        #expect(ProxyAddress("https://p")?.port == 443)
        #expect(ProxyAddress("socks5h://u:p@p")?.port == 1080)
    }

    private static let lists = [
        "*", "test", ".test", "a.test", "a.test.", "b.test", "A.TEST", "a.test,b.test", "b.test a.test", " , ,a.test", "est", ".a.test",
        "*.test",
        "a.test:9400", "10.1.2.3", "10.1.0.0/16", "10.1.2.3/32", "10.1.2.3/0", "10.0.0.0/8", "10.2.0.0/16", "10.1.2.3/33",
        "fd00::1", "[fd00::1]", "",
    ]
    private static let hosts = ["a.test", "x.a.test", "ba.test", "a.test.", "10.1.2.3", "[fd00::1]"]

    @Test("networks of IPv6 addresses are understood too, which this libcurl misses")
    func sixthVersion() throws {
        #expect(NoProxyList("fd00::/8").contains("fd00::1"))
        #expect(!NoProxyList("fd00::/8").contains("fe00::1"))
        #expect(NoProxyList("fd00::/9").contains("fd7f::1"))
        #expect(!NoProxyList("fd00::/9").contains("fd80::1"))
    }

    @Test("no_proxy is understood as curl understands it", arguments: lists)
    func noProxy(list: String) throws {
        // The proxy is a closed port of this machine, and every target another one: which of them was tried is what curl decided.
        let text = try ChildProcess.run(
            ["curl", "-q", "-sv", "--max-time", "5", "-x", "http://127.0.0.1:1", "--noproxy", list, "--connect-to", "::127.0.0.2:1"]
                + Self.hosts.map { "http://\($0)/" }, output: .null, errors: .pipe, mayFail: true)
        let direct = text.split(separator: "\n").filter { $0.contains("Trying ") }.map { $0.contains("127.0.0.2:1") }
        let ours = try Self.hosts.map { NoProxyList(list).contains(try TargetURL("http://\($0)/").host) }
        #expect(ours == direct, "\(Self.hosts)")
    }
}
