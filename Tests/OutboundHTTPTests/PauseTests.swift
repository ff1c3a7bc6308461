import HTTPTestServers
import OutboundHTTP
import TestSupport
import Testing

@Suite("Pausing a response")
struct PauseTests {
    let client: OutboundHTTPClient

    init() throws { client = try OutboundHTTPClient() }

    private func request(_ url: String) -> OutboundRequest {
        (url.hasPrefix("https") ? OutboundRequest.secure(url, version: .http2) : OutboundRequest(url: url))
            .limited(total: nil, responseBytes: .max)
    }

    /// Starts a response that is paused at its first bytes, and checks that nothing more arrives while the thread serves other requests.
    private func paused(_ url: String, beside origin: TestServer) async throws -> (recorder: TransferRecorder, transfer: OutboundTransfer) {
        let recorder = TransferRecorder()
        recorder.demand.withLock { $0 = .pause }
        let transfer = client.start(request(url), recorder.handlers)
        try await eventually { !recorder.now.body.isEmpty }
        let count = recorder.now.body.count
        for _ in 0..<20 { #expect(try await client.send(OutboundRequest(url: origin.url("/hello"))).status == 200) }
        #expect(recorder.now.body.count == count)
        return (recorder, transfer)
    }

    @Test("nothing is delivered until resume, then the rest")
    func resumes() async throws {
        let origin = try TestServer("origin")
        let (recorder, transfer) = try await paused(origin.url("/chunked?4000000"), beside: origin)
        recorder.demand.withLock { $0 = .more }
        transfer.resume()
        #expect(try await recorder.end() == nil)
        #expect(recorder.now.body.count == 4_000_000)
    }

    @Test("a paused response can be cancelled, also over HTTP/2 beside another stream", .enabled(if: NginxServer.isInstalled))
    func cancelled() async throws {
        let nginx = try NginxServer()
        let sibling = TransferRecorder()
        let other = client.start(request(nginx.url("/stream")), sibling.handlers)
        try await eventually { !sibling.now.body.isEmpty }
        let (recorder, transfer) = try await paused(nginx.url("/endless"), beside: nginx.origin)
        transfer.cancel()
        #expect(try await recorder.end()?.code == .cancelled)
        let before = sibling.now.body.count
        try await eventually { sibling.now.body.count > before }
        other.cancel()
        #expect(try await sibling.end()?.code == .cancelled)
    }
}
