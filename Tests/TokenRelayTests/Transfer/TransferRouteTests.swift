import HTTPTestServers
import OutboundHTTP
import Testing

@testable import TokenRelay

@Suite("TransferRoute")
struct TransferRouteTests {
    private func route(
        _ url: String, _ environment: [String: String] = [:], _ change: (inout TransferNeeds) throws -> Void = { _ in }
    ) throws -> TransferRoute {
        var needs = TransferNeeds()
        try change(&needs)
        return try TransferRoute.decide(for: url, needs, environment: environment)
    }

    private func proxy(_ route: TransferRoute) -> String? {
        guard case .libcurl(let options) = route else { return nil }
        return options.proxy.map { "\($0.address)" }
    }

    @Test("the direct driver by default; libcurl with a proxy of the environment, except for loopback and no_proxy")
    func environment() throws {
        let environment = ["https_proxy": "socks5h://p:1", "http_proxy": "https://q:2", "no_proxy": "direct.test:443, 10.0.0.0/8"]
        #expect(try route("https://api.test/v1") == .direct)
        #expect(try proxy(route("https://api.test/v1", environment)) == "p:1")
        #expect(try proxy(route("http://api.test/v1", environment)) == "q:2")
        for url in ["https://direct.test/v1", "https://10.1.2.3/v1", "http://127.0.0.1:8000/v1", "http://localhost/v1"] {
            #expect(try route(url, environment) == .direct, "\(url)")
        }
        #expect(try proxy(route("https://direct.test:8443/v1", environment)) == "p:1")
    }

    @Test("the provider's own proxy setting overrides the environment's")
    func own() throws {
        let environment = ["https_proxy": "p:1"]
        #expect(try proxy(route("https://api.test", environment) { $0.proxy = .url("http://own:3") }) == "own:3")
        #expect(try route("https://api.test", environment) { $0.proxy = .none } == .direct)
        #expect(try proxy(route("http://127.0.0.1") { $0.proxy = .url("own") }) == "own:1080")
    }

    @Test("the proxy's authentication scheme and authority file are part of the route")
    func authentication() throws {
        let route = try route("https://api.test", ["https_proxy": "https://u:p@p:1"]) {
            $0.proxyAuthentication = .ntlm
            $0.proxyAuthorityFile = "/ca.pem"
        }
        guard case .libcurl(let options) = route else { return #expect(Bool(false), "direct") }
        #expect(options.proxy?.authentication == .ntlm && options.proxy?.authorityFile == "/ca.pem")
    }

    @Test("HTTP/2 and client certificates use libcurl, and need https")
    func otherNeeds() throws {
        let certificate = try TransferCertificate(chainFile: TestAuthority.file("client.pem"), keyFile: TestAuthority.file("client.key"))
        let needs: [(inout TransferNeeds) -> Void] = [{ $0.version = .http2 }, { $0.certificate = certificate }]
        for change in needs {
            #expect(try route("https://api.test", [:], change) != .direct)
            #expect(throws: UnusableRoute.self) { try route("http://api.test", [:], change) }
        }
    }

    @Test("an unusable proxy setting is an error that quotes no password")
    func unusable() throws {
        for environment in [["https_proxy": "ftp://u:secret@p:1"], ["https_proxy": "u:secret@p:1", "no_proxy": "10.0.0.0/33"]] {
            let error = #expect(throws: UnusableRoute.self) { try route("https://api.test", environment) }
            #expect(error?.description.contains("secret") == false && error?.description.contains("api.test") == true)
        }
        let error = #expect(throws: UnusableRoute.self) { try route("https://api.test") { $0.proxy = .url("http://u:secret@p:x") } }
        #expect(error?.description.contains("secret") == false)
    }

    @Test(
        "a file of authorities that has no certificate is an error",
        arguments: ["/nonexistent.pem", "/", TestAuthority.file("client.key")])
    func authorities(_ path: String) throws {
        let error = #expect(throws: UnusableRoute.self) { try AuthorityFile.check(path) }
        #expect(error?.description.hasPrefix(path) == true, "\(String(describing: error))")
        try AuthorityFile.check(TestAuthority.authority)
    }

    @Test(
        "an unusable client certificate is an error",
        arguments: [
            ("/nonexistent.pem", "client.key", "cannot be read"), ("client.key", "client.key", "certificate is not in PEM"),
            ("client.pem", "client.pem", "key is not in PEM"), ("client.pem", "server.key", "does not belong"),
        ])
    func certificate(_ chain: String, _ key: String, _ expected: String) throws {
        let error = #expect(throws: UnusableRoute.self) {
            try TransferCertificate(
                chainFile: chain.hasPrefix("/") ? chain : TestAuthority.file(chain), keyFile: TestAuthority.file(key))
        }
        #expect(error?.description.contains(expected) == true, "\(String(describing: error))")
    }
}
