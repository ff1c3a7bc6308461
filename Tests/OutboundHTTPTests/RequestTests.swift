import HTTPTestServers
import OutboundHTTP
import TestSupport
import Testing

@Suite("Requests and responses")
struct RequestTests {
    let origin: TestServer
    let client: OutboundHTTPClient

    init() throws {
        origin = try TestServer("origin")
        client = try OutboundHTTPClient()
    }

    @Test("method, headers and body are sent as given", arguments: ["GET", "POST", "PUT", "PATCH", "DELETE"])
    func echo(method: String) async throws {
        let body: [UInt8]? = method == "GET" ? nil : Array("body\0with zero".utf8)
        let request = OutboundRequest(
            HTTPMethod(stringLiteral: method), url: origin.url("/echo"), headers: [.init("X-One", "1"), .init("X-Empty", "")], body: body)
        let echo: Echo = try await client.decoded(request)
        #expect(echo.method == method)
        #expect(echo["x-one"] == "1")
        #expect(echo["x-empty"] == "")
        #expect(echo["content-type"] == nil)
        #expect(echo["accept-encoding"] == nil)
        #expect(echo["content-length"] == body.map { "\($0.count)" })
        #expect(echo.body == (body == nil ? "" : "body\0with zero"))
    }

    @Test("a POST without a body has length 0, a large one does not wait for 100-continue")
    func bodies() async throws {
        let empty: Echo = try await client.decoded(OutboundRequest(.post, url: origin.url("/echo")))
        #expect(empty.method == "POST" && empty["content-length"] == "0")
        let large = [UInt8](repeating: 0x61, count: 1_500_000)
        let request = OutboundRequest(.post, url: origin.url("/echo"), body: large).limited(responseBytes: 4_000_000)
        let echo: Echo = try await client.decoded(request)
        #expect(echo.body.count == large.count && echo["expect"] == nil)
    }

    @Test("HEAD has no body")
    func head() async throws {
        // This server sends a body nevertheless; it must not be read as the next response.
        let response = try await client.send(OutboundRequest(.head, url: origin.url("/status/200")))
        #expect(response.status == 200 && response.body.isEmpty)
        #expect(try await client.send(OutboundRequest(url: origin.url("/status/404"))).status == 404)
    }

    @Test("interim responses and trailers are not reported as the head")
    func interim() async throws {
        let response = try await client.send(OutboundRequest(url: origin.url("/interim")))
        #expect(response.status == 201)
        #expect(response.body == Array("body".utf8))
        #expect(response.head["x-final"] == "yes")
        #expect(response.head["x-interim"] == nil && response.head["x-trailer"] == nil)
    }

    @Test("a redirect is delivered, not followed", arguments: [301, 302, 303, 307, 308])
    func redirect(status: Int) async throws {
        let response = try await client.send(OutboundRequest(url: origin.url("/status/\(status)?/hello")))
        #expect(response.status == status)
        #expect(try await client.journal(of: origin).requests == ["GET /status/\(status)?/hello"])
    }

    @Test(
        "an invalid URL is rejected before connecting",
        arguments: [
            "", "/path", "ftp://127.0.0.1/", "file:///etc/passwd", "http://", "http://user:password@127.0.0.1/", "http://a b/",
            "http://127.0.0.1:0/", "http://127.0.0.1:70000/", "http://127.0.0.1/\n", "gopher://127.0.0.1/",
        ])
    func invalidURL(url: String) async throws {
        #expect(try await client.error(of: OutboundRequest(url: url)).code == .invalidRequest)
    }

    @Test("a header with a line end or another control character is rejected", arguments: ["a\r\nX-Evil: 1", "a\nb", "a\0b", "a\u{7F}"])
    func headerInjection(value: String) async throws {
        let request = OutboundRequest(url: origin.url("/echo"), headers: [.init("X-One", value)])
        #expect(try await client.error(of: request).code == .invalidRequest)
        let named = OutboundRequest(url: origin.url("/echo"), headers: [.init(value, "x")])
        #expect(try await client.error(of: named).code == .invalidRequest)
    }

    @Test("concurrent requests each get their own response")
    func many() async throws {
        try await withThrowingTaskGroup(of: (Int, Int).self) { group in
            for number in 0..<100 {
                group.addTask { [client, origin] in (number, try await client.send(.init(url: origin.url("/bytes?\(number)"))).body.count) }
            }
            for try await (number, count) in group { #expect(number == count) }
        }
    }

    @Test("requests above `maximumTransfers` are rejected until others end")
    func overloaded() async throws {
        let client = try OutboundHTTPClient(OutboundConfiguration { $0.maximumTransfers = 1 })
        let recorder = TransferRecorder()
        let first = client.start(OutboundRequest(url: origin.url("/hang")), recorder.handlers)
        #expect(try await client.error(of: OutboundRequest(url: origin.url("/hello"))).code == .overloaded)
        first.cancel()
        #expect(try await recorder.end()?.code == .cancelled)
        #expect(try await client.send(OutboundRequest(url: origin.url("/hello"))).status == 200)
    }

    @Test("shutDown ends running requests, and later ones fail at once")
    func shutDown() async throws {
        let client = try OutboundHTTPClient()
        let recorder = TransferRecorder()
        _ = client.start(OutboundRequest(url: origin.url("/stream")).limited(total: nil), recorder.handlers)
        try await eventually { !recorder.now.body.isEmpty }
        client.shutDown()
        #expect(try await recorder.end()?.code == .shutDown)
        #expect(try await client.error(of: OutboundRequest(url: origin.url("/hello"))).code == .shutDown)
        client.shutDown()
    }
}
