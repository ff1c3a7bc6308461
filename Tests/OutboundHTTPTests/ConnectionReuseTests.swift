import HTTPTestServers
import OutboundHTTP
import TestSupport
import Testing

@Suite("Connection reuse")
struct ConnectionReuseTests {
    let origin: TestServer
    let client: OutboundHTTPClient

    init() throws {
        origin = try TestServer("origin")
        client = try OutboundHTTPClient()
    }

    private func numberOnConnection(_ request: OutboundRequest) async throws -> String? {
        try await client.send(request).head["x-number-on-connection"]
    }

    @Test("a GET reuses a connection")
    func reuse() async throws {
        #expect(try await numberOnConnection(.init(url: origin.url("/echo"))) == "1")
        #expect(try await numberOnConnection(.init(url: origin.url("/echo"))) == "2")
    }

    @Test("a POST gets a new connection, unless `mayBeSentTwice`")
    func post() async throws {
        #expect(try await numberOnConnection(.init(url: origin.url("/echo"))) == "1")
        var post = OutboundRequest(.post, url: origin.url("/echo"), body: [])
        #expect(try await numberOnConnection(post) == "1")
        post.mayBeSentTwice = true
        #expect(try await numberOnConnection(post) != "1")
    }

    @Test("a POST whose connection breaks is sent again only with `mayBeSentTwice`")
    func dropped() async throws {
        var post = OutboundRequest(.post, url: origin.url("/drop-kept"), body: [])
        // The first opens a connection; the second gets a new one and a response.
        #expect(try await client.send(post).status == 200)
        #expect(try await client.send(post).status == 200)
        #expect(try await client.journal(of: origin).requests.filter { $0 == "POST /drop-kept" }.count == 2)
        // A reused connection breaks: libcurl sends the request again on another one, and the server receives it more than once.
        post.mayBeSentTwice = true
        #expect(try await client.send(post).status == 200)
        #expect(try await client.journal(of: origin).requests.filter { $0 == "POST /drop-kept" }.count >= 4)
    }

    @Test("requests beyond `connectionsPerHost` wait, within their connect limit")
    func perHost() async throws {
        let client = try OutboundHTTPClient(OutboundConfiguration { $0.connectionsPerHost = 1 })
        let recorder = TransferRecorder()
        let first = client.start(OutboundRequest(url: origin.url("/hang")).limited(total: nil), recorder.handlers)
        try await eventually { try await self.client.journal(of: origin).requests == ["GET /hang"] }
        let error = try await client.error(of: OutboundRequest(url: origin.url("/hello")).limited(connect: .milliseconds(100)))
        #expect(error.code == .connectTimeout)
        first.cancel()
        #expect(try await client.send(OutboundRequest(url: origin.url("/hello"))).status == 200)
    }
}
