import HTTPTestServers
import OutboundHTTP
import TestSupport
import Testing

@Suite("Cancellation")
struct CancellationTests {
    let origin: TestServer
    let client: OutboundHTTPClient

    init() throws {
        origin = try TestServer("origin")
        client = try OutboundHTTPClient()
    }

    @Test("cancelling the task ends the request in every phase", arguments: ["/hang", "/stall", "/stream"])
    func task(path: String) async throws {
        let task = Task { [client, origin] in
            try await client.error(of: OutboundRequest(url: origin.url(path)).limited(total: nil))
        }
        try await eventually { try await client.journal(of: origin).requests.count == 1 }
        task.cancel()
        #expect(try await task.value.code == .cancelled)
    }

    @Test("a task that is already cancelled sends nothing")
    func before() async throws {
        let task = Task { [client, origin] in
            withUnsafeCurrentTask { $0?.cancel() }
            return try await client.error(of: OutboundRequest(url: origin.url("/hello")))
        }
        #expect(try await task.value.code == .cancelled)
        #expect(try await client.journal(of: origin).requests.isEmpty)
    }

    @Test("the server sees the end of a cancelled stream within 100 ms", arguments: ["/stream", "/hang"])
    func promptHTTP1(path: String) async throws {
        let delays = try await cancelledStreams(5, client, origin, url: origin.url(path))
        // One of five suffices, because the machine may be busy.
        #expect(try #require(delays.min()) < .milliseconds(100))
    }

    @Test("the same over HTTP/2", .enabled(if: NginxServer.isInstalled), arguments: ["/stream", "/hang"])
    func promptHTTP2(path: String) async throws {
        let nginx = try NginxServer()
        let delays = try await cancelledStreams(5, client, nginx.origin, url: nginx.url(path))
        #expect(try #require(delays.min()) < .milliseconds(100))
    }

    @Test(
        "the same over HTTP/2 while another stream of the connection goes on or waits", .enabled(if: NginxServer.isInstalled),
        arguments: ["/stream", "/hang"])
    func promptBesideSibling(path: String) async throws {
        let nginx = try NginxServer()
        let client = try OutboundHTTPClient(OutboundConfiguration { $0.connectionsPerHost = 1 })
        let sibling = TransferRecorder()
        let transfer = client.start(.secure(nginx.url(path), version: .http2).limited(total: nil), sibling.handlers)
        try await eventually { try await self.client.journal(of: nginx.origin).requests.count == 1 }
        let delays = try await cancelledStreams(1, client, nginx.origin, url: nginx.url("/stream"), path: "/stream")
        #expect(try #require(delays.min()) < .milliseconds(100))
        #expect(sibling.now.ends.isEmpty)
        transfer.cancel()
    }

    /// The times from `cancel` to the end at the server, of several streams one after the other.
    private func cancelledStreams(
        _ count: Int, _ client: OutboundHTTPClient, _ origin: TestServer, url: String, path: String? = nil
    ) async throws -> [Duration] {
        var delays: [Duration] = []
        for _ in 0..<count {
            let before = try await self.client.journal(of: origin)
            let recorder = TransferRecorder()
            let request = url.hasPrefix("https") ? OutboundRequest.secure(url, version: .http2) : OutboundRequest(url: url)
            let transfer = client.start(request.limited(total: nil), recorder.handlers)
            try await eventually { try await self.client.journal(of: origin).requests.count > before.requests.count }
            if url.hasSuffix("/stream") { try await eventually { !recorder.now.body.isEmpty } }
            let cancelled = monotonicNanoseconds()
            transfer.cancel()
            var ends: [UInt64] = []
            try await eventually {
                ends = try await self.client.journal(of: origin).stream_ends
                return ends.count > before.stream_ends.count
            }
            delays.append(.nanoseconds(Int64(try #require(ends.last)) - Int64(cancelled)))
            #expect(try await recorder.end()?.code == .cancelled)
        }
        return delays
    }
}
