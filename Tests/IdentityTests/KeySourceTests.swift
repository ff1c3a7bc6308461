import Foundation
import OutboundHTTP
import Testing

@testable import Identity

@Suite("KeySource")
struct KeySourceTests {
    let client: OutboundHTTPClient

    init() throws { client = try OutboundHTTPClient() }

    private func error(_ source: KeySource) async -> KeySourceError? {
        do {
            _ = try await source.load()
            return nil
        } catch {
            return error as? KeySourceError
        }
    }

    @Test("a file's new content is read, whether it was overwritten or replaced by a rename")
    func file() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "jwks.json")
        try Data(Fixture.jwks.utf8).write(to: file)
        let keySet = KeySet(source: .file(file.path))
        #expect(await keySet.load())
        #expect(keySet.current?.identifiers == ["ec-1", "ed-1", "rsa-1"])
        try Data(#"{"keys":[\#(Fixture.secondKey)]}"#.utf8).write(to: file)
        #expect(await keySet.load())
        #expect(keySet.current?.identifiers == ["ec-2"])
        try Data(#"{"keys":[]}"#.utf8).write(to: file, options: .atomic)
        #expect(await keySet.load())
        #expect(keySet.current?.identifiers == [])
    }

    @Test("a missing file, a directory and a file that is too large are errors")
    func badFiles() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        #expect(await error(.file(file.path)) == .unreadable(path: file.path))
        #expect(await error(.file("/")) == .unreadable(path: "/"))
        try Data(repeating: 0x20, count: KeySource.maximumByteCount + 1).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        #expect(await error(.file(file.path)) == .tooLarge)
    }

    @Test(
        "http is accepted for loopback only",
        arguments: [
            "http://example.com/jwks", "http://127.0.0.1.example.com/", "http://localhost.example.com/", "http://127.1.1.1.1/",
            "http://128.0.0.1/",
            "ftp://127.0.0.1/", "file:///etc/passwd", "/jwks", "", "https://", "http://", "http://127.0.0.1@example.com/",
            "http://127.0.0/",
        ])
    func insecure(url: String) {
        #expect(throws: KeySourceError.insecure) { try KeySource.check(url: url) }
    }

    @Test(
        "https, and http on loopback, are accepted",
        arguments: [
            "https://example.com/jwks", "HTTPS://x.y", "http://127.0.0.1:80/", "http://127.8.9.10/", "http://localhost:1/",
            "http://[::1]:1/x",
        ])
    func secure(url: String) {
        #expect(throws: Never.self) { try KeySource.check(url: url) }
    }

    @Test("a URL's document is read")
    func url() async throws {
        let server = try LoopbackServer { LoopbackServer.response("200 OK", body: Fixture.jwks) }
        defer { server.stop() }
        let keySet = KeySet(source: try .url("http://127.0.0.1:\(server.port)/jwks.json", client: client))
        #expect(await keySet.load())
        #expect(keySet.current?.identifiers == ["ec-1", "ed-1", "rsa-1"])
    }

    @Test("a status other than 200 is an error", arguments: ["404 Not Found", "500 Internal Server Error", "204 No Content"])
    func status(status: String) async throws {
        let server = try LoopbackServer { LoopbackServer.response(status) }
        defer { server.stop() }
        #expect(await error(try .url("http://127.0.0.1:\(server.port)/", client: client)) == .status(try #require(Int(status.prefix(3)))))
    }

    @Test("a document above 256 KiB is an error")
    func tooLarge() async throws {
        let server = try LoopbackServer {
            LoopbackServer.response("200 OK", body: String(repeating: " ", count: KeySource.maximumByteCount + 1))
        }
        defer { server.stop() }
        #expect(await error(try .url("http://127.0.0.1:\(server.port)/", client: client)) == .tooLarge)
    }

    @Test("a redirect is not followed")
    func redirect() async throws {
        let target = try LoopbackServer { LoopbackServer.response("200 OK", body: Fixture.jwks) }
        defer { target.stop() }
        let server = try LoopbackServer {
            LoopbackServer.response("302 Found", headers: "Location: http://127.0.0.1:\(target.port)/\r\n")
        }
        defer { server.stop() }
        #expect(await error(try .url("http://127.0.0.1:\(server.port)/", client: client)) == .status(302))
    }

    @Test(
        "a server that says nothing, or stops in the middle, is given up", arguments: ["", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"])
    func hanging(beginning: String) async throws {
        let server = try LoopbackServer(closes: false) { Array(beginning.utf8) }
        defer { server.stop() }
        #expect(await error(try .url("http://127.0.0.1:\(server.port)/", client: client, timeout: .milliseconds(50))) == .timeout)
    }

    @Test("an incomplete document is not used")
    func truncated() async throws {
        let server = try LoopbackServer { Array("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{\"keys\":[]}".utf8) }
        defer { server.stop() }
        let keySet = KeySet(source: try .url("http://127.0.0.1:\(server.port)/", client: client))
        #expect(await keySet.load() == false)
    }
}
