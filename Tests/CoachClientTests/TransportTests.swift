import Foundation
import Testing

@testable import CoachClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Suite("The default transport", .timeLimit(.minutes(1)))
struct TransportTests {
    private let transport = Transport.urlSession()

    @Test("status, headers and bytes are delivered unchanged")
    func plain() async throws {
        let server = try ScriptedServer { _, _ in [ScriptedServer.response("418 Teapot", headers: ["X-Thing: a"], body: "héllo")] }
        defer { server.stop() }
        var request = URLRequest(url: server.url.appending(path: "some/path"))
        request.httpMethod = "POST"
        request.httpBody = Data("hi".utf8)
        let response = try await transport.stream(request)
        #expect(response.status == 418)
        #expect(response.headers["x-thing"] == "a")
        var bytes: [UInt8] = []
        for try await chunk in response.body { bytes += chunk }
        #expect(String(decoding: bytes, as: UTF8.self) == "héllo")
        #expect(server.requests.map(\.method) == ["POST"])
        #expect(server.requests.map(\.path) == ["/some/path"])
        #expect(server.requests.map(\.body) == ["hi"])
    }

    @Test("bytes are delivered before the response ends")
    func noBuffering() async throws {
        let server = try ScriptedServer { _, _ in [.send(ScriptedServer.streamHead), .send(Array("first".utf8)), .hold()] }
        defer { server.stop() }
        let response = try await transport.stream(URLRequest(url: server.url))
        var seen: [UInt8] = []
        for try await chunk in response.body {
            seen += chunk
            if seen.count == 5 { break }
        }
        #expect(String(decoding: seen, as: UTF8.self) == "first")
    }

    @Test("a reader that is cancelled closes the connection")
    func cancelledReader() async throws {
        let (gone, signal) = AsyncStream<Void>.makeStream()
        let server = try ScriptedServer { _, _ in [.send(ScriptedServer.streamHead), .send([65]), .hold { signal.finish() }] }
        defer { server.stop() }
        let response = try await transport.stream(URLRequest(url: server.url))
        let (reading, started) = AsyncStream<Void>.makeStream()
        let reader = Task {
            for try await _ in response.body { started.finish() }
        }
        for await _ in reading {}
        reader.cancel()
        for await _ in gone {}
    }

    @Test("a caller that is cancelled before the head closes the connection")
    func cancelledCaller() async throws {
        let (gone, signal) = AsyncStream<Void>.makeStream()
        let (asked, question) = AsyncStream<Void>.makeStream()
        let server = try ScriptedServer { _, _ in
            question.finish()
            return [.hold { signal.finish() }]
        }
        defer { server.stop() }
        let caller = Task { [transport] in try await transport.stream(URLRequest(url: server.url)).status }
        for await _ in asked {}
        caller.cancel()
        for await _ in gone {}
        await #expect(throws: (any Error).self) { try await caller.value }
    }

    @Test("a task that was cancelled before the call sends no request")
    func cancelledBefore() async throws {
        let server = try ScriptedServer { _, _ in [.hold()] }
        defer { server.stop() }
        for _ in 0..<50 {
            let caller = Task { [transport] in
                withUnsafeCurrentTask { $0?.cancel() }
                return try await transport.stream(URLRequest(url: server.url)).status
            }
            await #expect(throws: (any Error).self) { try await caller.value }
        }
    }

    @Test("releasing the client does not end its running stream")
    func sessionOutlived() async throws {
        let server = try ScriptedServer { _, _ in [.send(ScriptedServer.streamHead), .send([65]), .send([66])] }
        defer { server.stop() }
        let response = try await Transport.urlSession().stream(URLRequest(url: server.url))
        var bytes: [UInt8] = []
        for try await chunk in response.body { bytes += chunk }
        #expect(bytes == [65, 66])
    }

    @Test("a connection that is reset in the middle is an error, not an end")
    func reset() async throws {
        let server = try ScriptedServer { _, _ in
            [.send(Array("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc".utf8)), .reset]
        }
        defer { server.stop() }
        await #expect(throws: (any Error).self) {
            for try await _ in try await transport.stream(URLRequest(url: server.url)).body {}
        }
    }

    @Test("an unreachable server is an error")
    func refused() async throws {
        let server = try ScriptedServer { _, _ in [] }
        server.stop()
        let url = server.url
        await #expect(throws: (any Error).self) {
            // The first connection may still find the socket that is being closed.
            for _ in 0..<100 { for try await _ in try await transport.stream(URLRequest(url: url)).body {} }
        }
    }

    @Test("a redirect is reported and not followed, so that no token reaches another host")
    func redirect() async throws {
        let other = try ScriptedServer { _, _ in [ScriptedServer.response("200 OK", body: "stolen")] }
        defer { other.stop() }
        let target = other.url
        let server = try ScriptedServer { _, _ in [ScriptedServer.response("302 Found", headers: ["Location: \(target)"], body: "")] }
        defer { server.stop() }
        var request = URLRequest(url: server.url)
        request.setValue("Bearer secret", forHTTPHeaderField: "Authorization")
        let response = try await transport.stream(request)
        #expect(response.status == 302)
        #expect(other.requests.isEmpty)
    }

    @Test("twenty concurrent requests do not wait for each other")
    func many() async throws {
        let server = try ScriptedServer { _, _ in [.send(ScriptedServer.streamHead), .send([65]), .hold()] }
        defer { server.stop() }
        var open: [Transport.Response] = []
        for _ in 0..<20 {
            let response = try await transport.stream(URLRequest(url: server.url))
            open.append(response)
        }
        #expect(open.count == 20)
    }
}
