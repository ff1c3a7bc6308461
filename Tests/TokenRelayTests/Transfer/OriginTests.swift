import Testing

@testable import TokenRelay

@Suite("URLs and requests")
struct OriginTests {
    @Test(
        "a URL is parsed",
        arguments: [
            ("http://a", false, "a", 80, "/", "a"), ("HTTPS://A.Example/x?y#z", true, "a.example", 443, "/x?y", "a.example"),
            ("http://a:8080?q", false, "a", 8080, "/?q", "a:8080"), ("https://[::1]:8443/p", true, "::1", 8443, "/p", "[::1]:8443"),
            ("https://a:443/", true, "a", 443, "/", "a"), ("http://a:/", false, "a", 80, "/", "a"),
        ])
    func url(_ text: String, _ isSecure: Bool, _ host: String, _ port: UInt16, _ target: String, _ authority: String) throws {
        let url = try #require(TransferURL(text))
        #expect(url.origin == Origin(isSecure: isSecure, host: host, port: port, authorityFile: nil))
        #expect(url.target == target)
        #expect(url.origin.authority == authority)
    }

    @Test(
        "a malformed URL is rejected",
        arguments: [
            "", "a", "ftp://a", "http://", "http://:80", "http://a:0", "http://a:70000", "http://a:x", "http://[::1", "http://[::1]x",
            "http://a b", "http://ä", "http://a\r\n", "http://user:password@a/",
        ])
    func malformedURL(_ text: String) { #expect(TransferURL(text) == nil) }

    @Test("a request is encoded with path, host, fields and length")
    func encoding() throws {
        func text(_ url: String, body: [UInt8]? = nil) throws -> String {
            let request = TransferRequest(url: url, headers: [.init("X", "y")], body: body)
            let target = try #require(TransferURL(url))
            return String(decoding: try #require(RequestEncoder.encode(request, to: target)), as: UTF8.self)
        }
        #expect(try text("http://a/b") == "GET /b HTTP/1.1\r\nHost: a\r\nX: y\r\n\r\n")
        #expect(try text("https://a:8/b", body: [65]) == "POST /b HTTP/1.1\r\nHost: a:8\r\nX: y\r\nContent-Length: 1\r\n\r\nA")
    }
}
