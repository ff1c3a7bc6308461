import Testing

@testable import TokenRelay

@Suite("Addresses, requests and proxies")
struct OriginTests {
    @Test(
        "an address is taken apart",
        arguments: [
            ("http://a", false, "a", 80, "/", "a"), ("HTTPS://A.Example/x?y#z", true, "a.example", 443, "/x?y", "a.example"),
            ("http://a:8080?q", false, "a", 8080, "/?q", "a:8080"), ("https://[::1]:8443/p", true, "::1", 8443, "/p", "[::1]:8443"),
            ("https://a:443/", true, "a", 443, "/", "a"), ("http://a:/", false, "a", 80, "/", "a"),
        ])
    func address(_ text: String, _ isSecure: Bool, _ host: String, _ port: UInt16, _ target: String, _ authority: String) throws {
        let address = try #require(TransferAddress(text))
        #expect(address.origin == Origin(isSecure: isSecure, host: host, port: port, authorityFile: nil))
        #expect(address.target == target)
        #expect(address.origin.authority(withDefaultPort: false) == authority)
    }

    @Test(
        "what is no address is none",
        arguments: [
            "", "a", "ftp://a", "http://", "http://:80", "http://a:0", "http://a:70000", "http://a:x", "http://[::1", "http://[::1]x",
            "http://a b", "http://ä", "http://a\r\n",
        ])
    func noAddress(_ text: String) { #expect(TransferAddress(text) == nil) }

    @Test(
        "hosts of this machine are known as such",
        arguments: [
            ("localhost", true), ("LOCALHOST:1", true), ("a.localhost", true), ("127.0.0.1", true), ("127.8.9.1:80", true), ("[::1]", true),
            ("0.0.0.0", true), ("127.0.0.1.example.com", false), ("127.0.0", false), ("localhost.example.com", false), ("128.0.0.1", false),
            ("[::2]", false),
        ])
    func loopback(_ place: String, _ isLoopback: Bool) throws {
        #expect(try #require(TransferAddress("http://\(place)/")).origin.isLoopback == isLoopback)
    }

    @Test("a proxy is told the whole address, a tunnel the place, a server neither")
    func encoding() throws {
        let proxy = Proxy(host: "p", port: 1, credentials: "Aladdin:open sesame")
        func text(_ url: String, _ proxy: Proxy?, body: [UInt8]? = nil) throws -> String {
            let address = try #require(TransferAddress(url))
            let request = TransferRequest(url: url, headers: [.init("X", "y")], body: body)
            return String(decoding: try #require(RequestEncoder.encode(request, to: address, through: proxy)), as: UTF8.self)
        }
        #expect(try text("http://a/b", nil) == "GET /b HTTP/1.1\r\nHost: a\r\nX: y\r\n\r\n")
        #expect(
            try text("http://a:8/b", proxy, body: [65])
                == "POST http://a:8/b HTTP/1.1\r\nHost: a:8\r\nProxy-Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\r\nX: y\r\n"
                + "Content-Length: 1\r\n\r\nA")
        #expect(try text("https://a/b", proxy) == "GET /b HTTP/1.1\r\nHost: a\r\nX: y\r\n\r\n")
        let tunnel = RequestEncoder.tunnel(to: try #require(TransferAddress("https://a/")).origin, through: Proxy(host: "p", port: 1))
        #expect(String(decoding: tunnel, as: UTF8.self) == "CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n")
    }
}
