import Foundation
import HTTPTestServers
import Reactor
import RelayTestSupport
import TestSupport
import Testing

@testable import TokenRelay

@Suite("Transfer over TLS", .enabled(if: TLSServer.isAvailable))
struct TransferTLSTests {
    let server: TLSServer

    init() throws { server = try TLSServer() }

    @Test("a peer with a trusted authority is accepted", arguments: DriverKind.allCases)
    func trusted(_ driver: DriverKind) async throws {
        let bench = try TransferBench(driver)
        let (recorder, _) = bench.start(
            TransferRequest(url: "https://127.0.0.1:\(server.port)/", connectTimeout: .seconds(20), authorityFile: server.certificate))
        #expect(try await recorder.end() == .complete)
        #expect(recorder.now.heads.first?.status == 200)
        #expect(!recorder.text.isEmpty)
    }

    @Test("a peer with an unknown authority fails with kind tls", arguments: DriverKind.allCases)
    func unknown(_ driver: DriverKind) async throws {
        let bench = try TransferBench(driver)
        let other = try TLSServer()
        for authority in [nil, other.certificate] {
            let end = try await bench.end(
                of: TransferRequest(
                    url: "https://127.0.0.1:\(server.port)/", connectTimeout: .seconds(20), authorityFile: authority))
            // X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT
            #expect(end == .failed(.init(kind: .tls, code: 18)))
        }
    }

    @Test("a certificate for another host fails with kind tls", arguments: DriverKind.allCases)
    func otherHost(_ driver: DriverKind) async throws {
        let bench = try TransferBench(driver)
        let end = try await bench.end(
            of: TransferRequest(url: "https://localhost:\(server.port)/", connectTimeout: .seconds(20), authorityFile: server.certificate))
        #expect(Self.isHostMismatch(end, driver), "\(end)")
    }

    @Test("an unreadable authority file fails with kind request", arguments: DriverKind.allCases)
    func noFile(_ driver: DriverKind) async throws {
        let bench = try TransferBench(driver)
        let end = try await bench.end(
            of: TransferRequest(url: "https://127.0.0.1:\(server.port)/", connectTimeout: .seconds(20), authorityFile: "/nonexistent.pem"))
        #expect(end == .failed(.init(kind: .request)))
    }

    @Test("a peer without TLS fails with kind tls", arguments: DriverKind.allCases)
    func plain(_ driver: DriverKind) async throws {
        let bench = try TransferBench(driver)
        let plain = try RawServer { connection in connection.write("HTTP/1.1 400 no\r\n\r\n") }
        guard
            case .failed(let failure) = try await bench.end(
                of: TransferRequest(url: "https://127.0.0.1:\(plain.port)/", connectTimeout: .seconds(20)))
        else { return #expect(Bool(false), "not a failure") }
        #expect(failure.kind == .tls)
    }

    @Test("a second connection resumes the session of the first", arguments: DriverKind.allCases, ["-tls1_3", "-tls1_2"])
    func resumption(_ driver: DriverKind, _ version: String) async throws {
        let bench = try TransferBench(driver)
        let server = try TLSServer([version])
        let request = TransferRequest(
            url: "https://127.0.0.1:\(server.port)/", connectTimeout: .seconds(20), authorityFile: server.certificate)
        var reused: [Bool] = []
        for _ in 0..<4 {
            // The server closes the connection after each response.
            let (recorder, _) = bench.start(request)
            #expect(try await recorder.end() == .complete)
            reused.append(recorder.text.contains("\nReused, TLSv"))
            #expect(recorder.text.contains(reused.last == true ? "\nReused, TLSv" : "\nNew, TLSv"))
        }
        #expect(reused == [false, true, true, true])
    }

    @Test("a session is not resumed for another authority, nor for another host", arguments: DriverKind.allCases)
    func trustOfSession(_ driver: DriverKind) async throws {
        let bench = try TransferBench(driver)
        func end(_ host: String, _ authority: String?) async throws -> TransferEnd {
            try await bench.end(
                of: TransferRequest(url: "https://\(host):\(server.port)/", connectTimeout: .seconds(20), authorityFile: authority))
        }
        for _ in 0..<2 { #expect(try await end("127.0.0.1", server.certificate) == .complete) }
        #expect(try await end("127.0.0.1", nil) == .failed(.init(kind: .tls, code: 18)))
        #expect(Self.isHostMismatch(try await end("localhost", server.certificate), driver))
        #expect(try await end("127.0.0.1", server.certificate) == .complete)
    }

    /// X509_V_ERR_HOSTNAME_MISMATCH; libcurl compares the name itself, and has no code of its own for it.
    private static func isHostMismatch(_ end: TransferEnd, _ driver: DriverKind) -> Bool {
        guard case .failed(let failure) = end else { return false }
        return failure.kind == .tls && (failure.code == 62 || driver == .libcurl)
    }
}

@Suite("TLSContextCache", .enabled(if: TLSServer.isAvailable))
struct TLSContextCacheTests {
    @Test("a file is read once for concurrent requests and again after a change; a broken file is ignored")
    func reload() async throws {
        let reactor = try Reactor(name: "trust")
        reactor.start()
        defer { reactor.stop() }
        let (one, other) = (try TLSServer(), try TLSServer())
        let file = FileManager.default.temporaryDirectory.appending(path: "ca-\(UUID().uuidString).pem")
        defer { try? FileManager.default.removeItem(at: file) }
        try FileManager.default.copyItem(atPath: one.certificate, toPath: file.path)
        let cache = ReactorBound(TLSContextCache(reactor: reactor, checkInterval: .zero), to: reactor)
        func context() async throws -> ObjectIdentifier {
            try await withCheckedThrowingContinuation { continuation in
                cache.submit { $0.context(file.path) { continuation.resume(with: $0.map { ObjectIdentifier($0) }) } }
            }
        }
        let first = try await context()
        for _ in 0..<20 { #expect(try await context() == first) }
        try Data("no certificate".utf8).write(to: file)
        for _ in 0..<20 { #expect(try await context() == first) }
        try Data(contentsOf: URL(filePath: other.certificate)).write(to: file, options: .atomic)
        let deadline = ContinuousClock.now + .seconds(30)
        while try await context() == first { try #require(ContinuousClock.now < deadline) }
    }
    @Test("authorities are read on another thread: no token waits 5 ms for a large file")
    func besideStreams() async throws {
        let (bench, server) = (try TransferBench(), try TLSServer())
        let file = FileManager.default.temporaryDirectory.appending(path: "ca-\(UUID().uuidString).pem")
        defer { try? FileManager.default.removeItem(at: file) }
        let certificate = try String(contentsOfFile: server.certificate, encoding: .utf8)
        try String(repeating: certificate, count: 2000).write(to: file, atomically: true, encoding: .utf8)
        // Otherwise this test could not fail.
        let begin = threadProcessorTime()
        _ = try TLSContext(authorityFile: file.path)
        #expect(threadProcessorTime() - begin > .milliseconds(5))
        let stream = try ProbeStream(bench.reactor)
        try await eventually { stream.tokens > 10 }
        stream.reset()
        let request = TransferRequest(
            url: "https://127.0.0.1:\(server.port)/", connectTimeout: .seconds(20), authorityFile: file.path)
        #expect(try await bench.end(of: request) == .complete)
        try await eventually { stream.tokens > 1 }
        #expect(stream.longest < .milliseconds(5), "\(stream.longest)")
    }
}
