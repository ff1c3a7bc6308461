import HTTPTestServers
import OutboundHTTP
import Synchronization
import TestSupport
import Testing

@testable import TokenRelay

@Suite("Transfers through proxies, over HTTP/2, with client certificates")
struct LibcurlTransferTests {
    let bench: TransferBench

    init() throws { bench = try TransferBench() }

    private func request(
        _ url: String, _ environment: [String: String] = [:], body: [UInt8]? = [1],
        _ change: (inout TransferNeeds) throws -> Void = { _ in }
    ) throws -> TransferRequest {
        var needs = TransferNeeds()
        try change(&needs)
        let route = try TransferRoute.decide(for: url, needs, environment: environment)
        #expect(route != .direct)
        return TransferRequest(
            url: url, body: body, connectTimeout: .seconds(20), authorityFile: TestAuthority.authority, route: route)
    }

    /// Reads some tokens of an endless stream, then cancels.
    private func stream(_ request: TransferRequest) async throws -> TransferHead {
        let (recorder, transfer) = bench.start(request)
        try await eventually { recorder.text.hasPrefix("data: token\n\ndata: token\n\n") || !recorder.now.ends.isEmpty }
        transfer.cancel()
        #expect(try await recorder.end() == .cancelled)
        return try #require(recorder.now.heads.first)
    }

    private func secureOrigin(_ more: String...) throws -> TestServer {
        let options = ["--cert", TestAuthority.serverCertificate, "--key", TestAuthority.serverKey] + more
        return try TestServer("origin", arguments: options)
    }

    @Test("an HTTP proxy forwards, with a password or without", arguments: [nil, "user:p@ss"])
    func forwarded(_ password: String?) async throws {
        let origin = try TestServer("origin")
        let proxy = try TestServer("http_proxy", arguments: password.map { ["--basic", $0] } ?? [])
        let credentials = password == nil ? "" : "user:p%40ss@"
        let request = try request(
            origin.url("/stream", host: "a.test"), ["http_proxy": "http://\(credentials)127.0.0.1:\(proxy.port)"])
        #expect(try await stream(request).status == 200)
    }

    @Test("an HTTP proxy opens a tunnel, reached in the clear or over TLS", arguments: [false, true])
    func tunnel(isSecure: Bool) async throws {
        let origin = try secureOrigin()
        let certificate = isSecure ? ["--cert", TestAuthority.serverCertificate, "--key", TestAuthority.serverKey] : []
        let proxy = try TestServer("http_proxy", arguments: certificate)
        let address = proxy.url("", scheme: isSecure ? "https" : "http")
        let request = try request(origin.url("/stream", scheme: "https", host: "a.test"), ["https_proxy": address]) {
            $0.proxyAuthorityFile = TestAuthority.authority
        }
        #expect(try await stream(request).status == 200)
    }

    @Test("NTLM", arguments: [false, true])
    func ntlm(isSecure: Bool) async throws {
        let origin = isSecure ? try secureOrigin() : try TestServer("origin")
        let proxy = try TestServer("http_proxy", "--ntlm", "user")
        let url = origin.url("/stream", scheme: isSecure ? "https" : "http", host: "a.test")
        let request = try request(url) {
            $0.proxy = .url("http://user:password@127.0.0.1:\(proxy.port)")
            $0.proxyAuthentication = .ntlm
        }
        #expect(try await stream(request).status == 200)
    }

    @Test("a SOCKS5 proxy looks up the name")
    func socks() async throws {
        let origin = try TestServer("origin")
        let proxy = try TestServer("socks_proxy", "--user", "user:password")
        let request = try request(
            origin.url("/stream", host: "a.test"), ["all_proxy": "socks5h://user:password@127.0.0.1:\(proxy.port)"])
        #expect(try await stream(request).status == 200)
        #expect(proxy.line() == "a.test:\(origin.port)")
    }

    @Test("a proxy that refuses fails with kind connect, one that does not answer with connect_timeout")
    func refused() async throws {
        let refusing = try TestServer("http_proxy", "--refuse", "502")
        let end = try await bench.end(of: request("https://a.test/", ["https_proxy": refusing.url("")]))
        #expect(end == .failed(.init(kind: .connect, code: 502)))
        let silent = try TestServer("http_proxy", "--silent")
        var request = try request("https://a.test/", ["https_proxy": silent.url("")])
        request.connectTimeout = .milliseconds(300)
        #expect(try await bench.end(of: request) == .failed(.init(kind: .connectTimeout)))
    }

    @Test("HTTP/2, directly and through a tunnel", .enabled(if: NginxServer.isInstalled), arguments: [false, true])
    func http2(isProxied: Bool) async throws {
        let nginx = try NginxServer()
        let proxy = try TestServer("http_proxy")
        let request = try request(nginx.url("/stream")) {
            $0.version = .http2
            if isProxied { $0.proxy = .url(proxy.url("")) }
        }
        #expect(try await stream(request)["x-served-over"] == "HTTP/2.0")
    }

    @Test("a fast HTTP/2 stream does not delay other work of the thread", .enabled(if: NginxServer.isInstalled))
    func flood() async throws {
        let nginx = try NginxServer()
        // Only counts the bytes, because storing them would take longer than receiving them.
        let counted = Mutex((bytes: 0, end: TransferEnd?.none))
        let transfer = bench.start(
            try request(nginx.url("/endless")) { $0.version = .http2 },
            TransferHandlers(
                head: { _ in }, bytes: { bytes in counted.withLock { $0.bytes += bytes.count } },
                end: { end in counted.withLock { $0.end = end } }))
        try await eventually { counted.withLock { $0.bytes } > 1 << 20 }
        let probe = ThreadProbe(bench.reactor)
        try await eventually { probe.rounds > 200 }
        #expect(probe.isInTime, "\(probe.longest)")
        transfer.cancel()
        try await eventually { counted.withLock { $0.end } != nil }
        #expect(counted.withLock { $0.end } == .cancelled)
    }

    @Test("a client certificate is sent; without it the server rejects the connection")
    func certificate() async throws {
        let origin = try secureOrigin("--client-ca", TestAuthority.authority)
        let url = origin.url("/stream", scheme: "https")
        let request = try request(url) {
            $0.certificate = try TransferCertificate(
                chainFile: TestAuthority.file("client.pem"), keyFile: TestAuthority.file("client.key"))
        }
        #expect(try await stream(request).status == 200)
        var without = request
        without.route = .libcurl(LibcurlOptions(version: .http1))
        guard case .failed(let failure) = try await bench.end(of: without) else { return #expect(Bool(false), "not a failure") }
        // Under TLS 1.3 the server rejects after the client's part of the handshake.
        #expect([.tls, .unanswered, .cut].contains(failure.kind))
    }

    @Test("no file descriptor is left when the client is closed")
    func close() async throws {
        let origin = try TestServer("origin")
        let request = TransferRequest(url: origin.url("/stream"), route: DriverKind.libcurl.route)
        let (recorder, _) = bench.start(request)
        try await eventually { !recorder.text.isEmpty }
        bench.client.close()
        #expect(try await recorder.end() == .cancelled)
        try await eventually { RawServer.connections(to: origin.port) == 0 }
        #expect(try await bench.end(of: request) == .cancelled)
    }
}
