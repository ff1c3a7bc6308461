import HTTPTestServers
import OutboundHTTP
import Testing

@Suite("Proxies")
struct ProxyTests {
    let origin: TestServer

    init() throws { origin = try TestServer("origin") }

    private func client(_ proxy: String, _ change: (inout ProxyRules) -> Void = { _ in }) throws -> OutboundHTTPClient {
        var configuration = OutboundConfiguration()
        configuration.proxies.plain = ProxyURL(proxy)
        configuration.proxies.secure = configuration.proxies.plain
        change(&configuration.proxies)
        // The proxy looks the names up.
        return try OutboundHTTPClient(configuration) { _ in .failure(.init(code: -2)) }
    }

    private func secureOrigin() throws -> TestServer {
        try TestServer("origin", "--cert", TestAuthority.serverCertificate, "--key", TestAuthority.serverKey)
    }

    @Test("plain requests are forwarded, and the proxy looks the name up")
    func forwarded() async throws {
        let proxy = try TestServer("http_proxy")
        let client = try client(proxy.url(""))
        let response = try await client.send(OutboundRequest(url: origin.url("/hello", host: "a.test")))
        #expect(response.status == 200 && response.body == Array("hello".utf8))
        let journal = try await OutboundHTTPClient().proxyJournal(of: proxy)
        #expect(journal.requests == ["GET http://a.test:\(origin.port)/hello"])
    }

    @Test("secure requests use a tunnel; the proxy gets no request headers, and its headers are not reported")
    func tunnel() async throws {
        let proxy = try TestServer("http_proxy", "--basic", "user:p@ss")
        let server = try secureOrigin()
        let client = try client("http://user:p%40ss@127.0.0.1:\(proxy.port)")
        var request = OutboundRequest.secure(server.url("/echo", scheme: "https", host: "a.test"))
        request.headers = [.init("X-Secret", "1")]
        let response = try await client.send(request)
        #expect(response.status == 200 && response.head["x-from"] == nil)
        let journal = try await OutboundHTTPClient().proxyJournal(of: proxy)
        #expect(journal.requests == ["CONNECT a.test:\(server.port)"])
        #expect(journal.headers.allSatisfy { $0["x-secret"] == nil })
    }

    @Test("HTTP/2 works through a tunnel", .enabled(if: NginxServer.isInstalled))
    func http2() async throws {
        let proxy = try TestServer("http_proxy")
        let nginx = try NginxServer()
        let response = try await client(proxy.url("")).send(.secure(nginx.url("/hello"), version: .http2))
        #expect(response.head["x-served-over"] == "HTTP/2.0")
    }

    @Test("wrong credentials end a tunnel with the code proxy, and a forwarded request with the proxy's response")
    func wrongCredentials() async throws {
        let proxy = try TestServer("http_proxy", "--basic", "user:right")
        let client = try client("http://user:wrong@127.0.0.1:\(proxy.port)")
        let error = try await client.error(of: .secure("https://a.test/"))
        #expect(error.code == .proxy && error.cause == .proxy(407))
        let response = try await client.send(OutboundRequest(url: origin.url("/hello", host: "a.test")))
        #expect(response.status == 407 && response.body == Array("authenticate yourself".utf8))
    }

    @Test("NTLM: the three messages use one connection, and the challenges are not reported as responses", arguments: [false, true])
    func ntlm(isSecure: Bool) async throws {
        let proxy = try TestServer("http_proxy", "--ntlm", "user")
        let server = isSecure ? try secureOrigin() : origin
        let client = try client("http://user:password@127.0.0.1:\(proxy.port)") { $0.authentication = .ntlm }
        let response = try await client.send(.secure(server.url("/hello", scheme: isSecure ? "https" : "http", host: "a.test")))
        #expect(response.status == 200 && response.body == Array("hello".utf8))
        #expect(try await OutboundHTTPClient().proxyJournal(of: proxy).ntlm == [1, 3])
    }

    @Test("a proxy over TLS, whose authority must be trusted", arguments: [false, true])
    func secureProxy(isSecure: Bool) async throws {
        let proxy = try TestServer("http_proxy", "--cert", TestAuthority.serverCertificate, "--key", TestAuthority.serverKey)
        let server = isSecure ? try secureOrigin() : origin
        let trusting = try client("https://127.0.0.1:\(proxy.port)") { $0.authorityFile = TestAuthority.authority }
        let request = OutboundRequest.secure(server.url("/hello", scheme: isSecure ? "https" : "http", host: "a.test"))
        #expect(try await trusting.send(request).status == 200)
        #expect(try await client("https://127.0.0.1:\(proxy.port)").error(of: request).code == .tls)
    }

    @Test("SOCKS5 with the name looked up by the proxy or by the client")
    func socks() async throws {
        let proxy = try TestServer("socks_proxy", "--user", "user:password")
        let client = try client("socks5h://user:password@127.0.0.1:\(proxy.port)")
        #expect(try await client.send(OutboundRequest(url: origin.url("/hello", host: "a.test"))).status == 200)
        #expect(proxy.line() == "a.test:\(origin.port)")
        var configuration = OutboundConfiguration()
        configuration.proxies.plain = ProxyURL("socks5://user:password@127.0.0.1:\(proxy.port)")
        let resolving = try OutboundHTTPClient(configuration) { _ in .success(["127.0.0.1"]) }
        #expect(try await resolving.send(OutboundRequest(url: origin.url("/hello", host: "b.test"))).status == 200)
        #expect(proxy.line() == "127.0.0.1:\(origin.port)")
    }

    @Test("a connection that the proxy refuses ends with the code proxy")
    func refused() async throws {
        let http = try TestServer("http_proxy", "--refuse", "502")
        let error = try await client(http.url("")).error(of: .secure("https://a.test/"))
        #expect(error.code == .proxy && error.cause == .proxy(502))
        let socks = try TestServer("socks_proxy", "--refuse", "5")
        let refused = try await client("socks5h://127.0.0.1:\(socks.port)").error(of: OutboundRequest(url: "http://a.test/"))
        // CURLPX_REPLY_CONNECTION_REFUSED
        #expect(refused.code == .proxy && refused.cause == .proxy(19))
    }

    @Test("a proxy that does not answer ends with connect_timeout")
    func silent() async throws {
        let proxy = try TestServer("http_proxy", "--silent")
        let error = try await client(proxy.url("")).error(of: .secure("https://a.test/").limited(connect: .milliseconds(300)))
        #expect(error.code == .connectTimeout)
    }

    @Test("libcurl does not read the environment, and exceptions are reached without the proxy")
    func exceptions() async throws {
        let proxy = try TestServer("http_proxy")
        var configuration = OutboundConfiguration()
        configuration.proxies.plain = ProxyURL(proxy.url(""))
        configuration.proxies.exceptions = NoProxyList("b.test")
        let client = try OutboundHTTPClient(configuration) { _ in .success(["127.0.0.1"]) }
        #expect(try await client.send(OutboundRequest(url: origin.url("/hello", host: "a.b.test"))).status == 200)
        var direct = OutboundRequest(url: origin.url("/hello", host: "c.test"))
        direct.proxy = .none
        #expect(try await client.send(direct).status == 200)
        #expect(try await OutboundHTTPClient().proxyJournal(of: proxy).requests.isEmpty)
    }
}
