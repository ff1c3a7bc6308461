import HTTPTestServers
import OutboundHTTP
import TestSupport
import Testing

@Suite("Responses that are slow, too large or wrong")
struct FaultTests {
    let origin: TestServer
    let client: OutboundHTTPClient

    init() throws {
        origin = try TestServer("origin")
        client = try OutboundHTTPClient()
    }

    @Test("a server that never answers, or stops in the middle, ends with timeout", arguments: ["/hang", "/stall"])
    func hanging(path: String) async throws {
        let started = ContinuousClock.now
        let error = try await client.error(of: OutboundRequest(url: origin.url(path)).limited(total: .milliseconds(200)))
        #expect(error.code == .timeout)
        #expect(.now - started >= .milliseconds(200))
    }

    @Test("a server that never answers the TLS handshake ends with connect_timeout")
    func hangingHandshake() async throws {
        // A plain HTTP server waits for a line end, which the client hello does not have.
        let error = try await client.error(of: OutboundRequest(url: origin.url("/", scheme: "https")).limited(connect: .milliseconds(200)))
        #expect(error.code == .connectTimeout || error.code == .tls)
    }

    @Test(
        "a body above the limit is ended, whether its length was announced or not", arguments: ["/bytes?1001", "/chunked?1001", "/endless"])
    func tooLarge(path: String) async throws {
        #expect(try await client.error(of: OutboundRequest(url: origin.url(path)).limited(responseBytes: 1000)).code == .responseTooLarge)
    }

    @Test("a body of exactly the limit is accepted", arguments: ["/bytes?1000", "/chunked?1000"])
    func atLimit(path: String) async throws {
        #expect(try await client.send(OutboundRequest(url: origin.url(path)).limited(responseBytes: 1000)).body.count == 1000)
    }

    @Test("a head above 64 KiB ends the transfer")
    func largeHead() async throws {
        #expect(try await client.error(of: OutboundRequest(url: origin.url("/headers?65"))).code == .responseTooLarge)
        #expect(try await client.send(OutboundRequest(url: origin.url("/headers?60"))).head.headers.count == 61)
    }

    @Test("a content coding that was not requested is not decoded, a transfer coding is rejected")
    func bomb() async throws {
        let response = try await client.send(OutboundRequest(url: origin.url("/gzip?50000000")).limited(responseBytes: 100_000))
        #expect(response.body.starts(with: [0x1F, 0x8B]))
        let error = try await client.error(of: OutboundRequest(url: origin.url("/transfer-gzip?50000000")).limited(responseBytes: 100_000))
        #expect(error.code == .malformedResponse)
    }

    @Test("a response that is not HTTP ends with malformed_response")
    func garbage() async throws {
        #expect(try await client.error(of: OutboundRequest(url: origin.url("/garbage"))).code == .malformedResponse)
    }

    @Test(
        "an incomplete response ends with cut, a connection closed without a response with no_response",
        arguments: [("/cut", OutboundError.Code.cut), ("/empty", .unanswered)])
    func cut(path: String, code: OutboundError.Code) async throws {
        #expect(try await client.error(of: OutboundRequest(url: origin.url(path))).code == code)
    }

    @Test("a closed port ends with connect, and the system's errno")
    func refused() async throws {
        let port = try { try TestServer("origin").port }()
        let error = try await client.error(of: OutboundRequest(url: "http://127.0.0.1:\(port)/"))
        #expect(error.code == .connect)
        #expect(error.cause == .curl(code: 7, errno: 111))
    }

    @Test("a stream delivers its head and its pieces as they arrive, and has no time limit unless one is set")
    func stream() async throws {
        let recorder = TransferRecorder()
        let transfer = client.start(OutboundRequest(url: origin.url("/stream?0.001")).limited(total: nil), recorder.handlers)
        try await eventually { recorder.now.body.count > 500 }
        #expect(recorder.now.heads.map(\.status) == [200])
        transfer.cancel()
        #expect(try await recorder.end()?.code == .cancelled)
    }
}
