import Foundation
import Glibc
import Reactor
import RelayTestSupport
import Synchronization
import TestSupport
import Testing

@testable import TokenRelay

@Suite("Transfer")
struct TransferTests {
    @Test("request and response arrive as they were sent", arguments: DriverKind.allCases)
    func post(_ driver: DriverKind) async throws {
        let bench = try TransferBench(driver)
        let requests = Mutex<[String]>([])
        let server = try RawServer { connection in
            while let request = connection.request() {
                requests.withLock { $0.append(request) }
                connection.write("HTTP/1.1 201 Made\r\nX-One: 1\r\nContent-Length: 5\r\n\r\nhello")
            }
        }
        let body = Array(String(repeating: "x", count: 2_000_000).utf8)
        let (recorder, _) = bench.start(TransferRequest(url: server.url, headers: [.init("X-Key", "v")], body: body))
        #expect(try await recorder.end() == .complete)
        #expect(recorder.now.heads == [TransferHead(status: 201, headers: [.init("x-one", "1"), .init("content-length", "5")])])
        #expect(recorder.text == "hello")
        #expect(try await bench.end(of: TransferRequest(url: server.url)) == .complete)
        let (post, get) = try #require(requests.withLock { $0.count == 2 ? ($0[0], $0[1]) : nil })
        #expect(post.hasPrefix("POST /path HTTP/1.1\r\n"))
        #expect(post.contains("\r\nX-Key: v\r\n"))
        #expect(!post.lowercased().contains("\r\nexpect:"))
        #expect(post.utf8.count > body.count && post.hasSuffix("xxx"))
        #expect(get.hasPrefix("GET /path HTTP/1.1\r\n"))
    }

    @Test("a refused connection fails at once with kind connect", arguments: DriverKind.allCases)
    func refused(_ driver: DriverKind) async throws {
        let bench = try TransferBench(driver)
        let (descriptor, port) = try RawServer.bound()
        defer { Glibc.close(descriptor) }
        let start = ContinuousClock.now
        let end = try await bench.end(of: TransferRequest(url: "http://127.0.0.1:\(port)/", connectTimeout: .seconds(60)))
        #expect(end == .failed(.init(kind: .connect, code: ECONNREFUSED)))
        #expect(ContinuousClock.now - start < .seconds(30))
    }

    @Test("a host that does not answer fails with connect_timeout", arguments: DriverKind.allCases)
    func connectTimeout(_ driver: DriverKind) async throws {
        let bench = try TransferBench(driver)
        let host = try SilentPort()
        let start = ContinuousClock.now
        let end = try await bench.end(of: TransferRequest(url: "http://127.0.0.1:\(host.number)/", connectTimeout: .milliseconds(300)))
        #expect(end == .failed(.init(kind: .connectTimeout)))
        #expect(ContinuousClock.now - start >= .milliseconds(290))
        withExtendedLifetime(host) {}
    }

    @Test("a name that does not exist fails with kind resolve", arguments: DriverKind.allCases)
    func unknownName(_ driver: DriverKind) async throws {
        let bench = try TransferBench(driver)
        let end = try await bench.end(of: TransferRequest(url: "http://no-such-name.invalid/", connectTimeout: .seconds(20)))
        #expect(end == .failed(.init(kind: .resolve, code: EAI_NONAME)))
    }

    @Test("a server that hangs before its head can be cancelled", arguments: DriverKind.allCases)
    func hanging(_ driver: DriverKind) async throws {
        let bench = try TransferBench(driver)
        let closed = Atomic(false)
        let server = try RawServer { connection in
            _ = connection.request()
            connection.waitForClose()
            closed.store(true, ordering: .releasing)
        }
        let (recorder, transfer) = bench.start(TransferRequest(url: server.url, body: [1]))
        try await eventually { server.accepted == 1 }
        transfer.cancel()
        #expect(try await recorder.end() == .cancelled)
        try await eventually { closed.load(ordering: .acquiring) }
        #expect(recorder.now.heads.isEmpty)
    }

    @Test("head and first bytes are delivered before the response is complete", arguments: DriverKind.allCases)
    func hangAfterHead(_ driver: DriverKind) async throws {
        let bench = try TransferBench(driver)
        let server = try RawServer { connection in
            _ = connection.request()
            connection.streamHead()
            connection.chunk("first")
            connection.waitForClose()
        }
        let (recorder, transfer) = bench.start(TransferRequest(url: server.url))
        try await eventually { recorder.text == "first" }
        #expect(recorder.now.heads.first?.status == 200)
        transfer.cancel()
        #expect(try await recorder.end() == .cancelled)
    }

    @Test("the server sees a cancellation within 100 ms", arguments: DriverKind.allCases)
    func cancelLatency(_ driver: DriverKind) async throws {
        let bench = try TransferBench(driver)
        let closedAt = Mutex<ContinuousClock.Instant?>(nil)
        let server = try RawServer { connection in
            _ = connection.request()
            connection.streamHead()
            connection.chunk("first")
            connection.waitForClose()
            closedAt.withLock { $0 = .now }
        }
        // The best of several attempts, because the machine may be busy with other tests.
        var best = Duration.seconds(60)
        for _ in 0..<5 {
            let (recorder, transfer) = bench.start(TransferRequest(url: server.url))
            try await eventually { recorder.text == "first" }
            closedAt.withLock { $0 = nil }
            let start = ContinuousClock.now
            transfer.cancel()
            try await eventually { closedAt.withLock { $0 != nil } }
            best = min(best, start.duration(to: closedAt.withLock { $0 ?? .now }))
        }
        #expect(best < .milliseconds(100))
    }

    @Test(
        "an incomplete response fails with kind cut", arguments: DriverKind.allCases,
        [
            "HTTP/1.1 200 O", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
        ])
    func cut(_ driver: DriverKind, _ response: String) async throws {
        let bench = try TransferBench(driver)
        let server = try RawServer { connection in
            _ = connection.request()
            connection.write(response)
        }
        let (recorder, _) = bench.start(TransferRequest(url: server.url))
        guard case .failed(let failure) = try await recorder.end() else { return #expect(Bool(false), "not a failure") }
        // libcurl does not report an incomplete status line.
        let mayBeUnanswered = driver == .libcurl && !response.contains("\r\n")
        #expect(failure.kind == (mayBeUnanswered ? .unanswered : .cut))
        #expect(recorder.text == (response.contains("abc") ? "abc" : ""))
    }

    @Test(
        "a transfer coding other than chunked, and any in HTTP/1.0, fails with kind cut before the head is reported",
        arguments: DriverKind.allCases,
        [
            "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, gzip", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 3",
        ])
    func codings(_ driver: DriverKind, _ head: String) async throws {
        let bench = try TransferBench(driver)
        let server = try RawServer { connection in
            _ = connection.request()
            connection.write("\(head)\r\n\r\n3\r\nabc\r\n0\r\n\r\n")
        }
        let (recorder, _) = bench.start(TransferRequest(url: server.url))
        guard case .failed(let failure) = try await recorder.end() else { return #expect(Bool(false), "not a failure") }
        #expect(failure.kind == .cut)
        #expect(recorder.now.heads.isEmpty && recorder.text.isEmpty)
    }

    @Test("a response without length ends when the server closes", arguments: DriverKind.allCases)
    func untilClose(_ driver: DriverKind) async throws {
        let bench = try TransferBench(driver)
        let server = try RawServer { connection in
            _ = connection.request()
            connection.write("HTTP/1.0 200 OK\r\n\r\nall of it")
        }
        let (recorder, _) = bench.start(TransferRequest(url: server.url))
        #expect(try await recorder.end() == .complete)
        #expect(recorder.text == "all of it")
    }

    @Test("a response that arrives byte by byte is read the same", arguments: DriverKind.allCases)
    func bytewise(_ driver: DriverKind) async throws {
        let bench = try TransferBench(driver)
        let response =
            "HTTP/1.1 103 Early\r\nA: b\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
            + "5\r\nwürd\r\n2\r\ne.\r\n0\r\nT: x\r\n\r\n"
        let server = try RawServer { connection in
            _ = connection.request()
            for byte in response.utf8 { connection.write(bytes: [byte]) }
            connection.waitForClose()
        }
        let (recorder, _) = bench.start(TransferRequest(url: server.url))
        #expect(try await recorder.end() == .complete)
        #expect(recorder.now.heads.first?.headers == [.init("transfer-encoding", "chunked")])
        #expect(recorder.text == "würde.")
    }

    @Test("all bytes of one wake-up are delivered together", arguments: DriverKind.allCases)
    func coalesced(_ driver: DriverKind) async throws {
        let bench = try TransferBench(driver)
        let server = try RawServer { connection in
            _ = connection.request()
            connection.streamHead()
            connection.write((0..<100).map { _ in "5\r\ntoken\r\n" }.joined() + "0\r\n\r\n")
        }
        let (recorder, _) = bench.start(TransferRequest(url: server.url))
        #expect(try await recorder.end() == .complete)
        #expect(recorder.now.body.count == 500)
        #expect(recorder.now.handOvers <= 3)
    }

    @Test("an idle connection is reused", arguments: DriverKind.allCases)
    func reuse(_ driver: DriverKind) async throws {
        let bench = try TransferBench(driver)
        let server = try RawServer { $0.answerEach("data") }
        for _ in 0..<20 { #expect(try await bench.end(of: TransferRequest(url: server.url, body: [1])) == .complete) }
        // libcurl may repeat a POST when a reused connection breaks, so each POST gets a new one.
        #expect(server.accepted == (driver == .direct ? 1 : 20))
    }

    @Test("an idle connection that the server has closed is replaced without an error", arguments: DriverKind.allCases)
    func staleConnection(_ driver: DriverKind) async throws {
        let bench = try TransferBench(driver)
        let server = try RawServer { connection in
            _ = connection.request()
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        }
        for _ in 0..<5 { #expect(try await bench.end(of: TransferRequest(url: server.url, body: [1])) == .complete) }
        #expect(server.accepted == 5)
    }

    @Test("a redirect is delivered, not followed", arguments: DriverKind.allCases)
    func redirect(_ driver: DriverKind) async throws {
        let bench = try TransferBench(driver)
        let server = try RawServer { connection in
            _ = connection.request()
            connection.write("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n")
        }
        let (recorder, _) = bench.start(TransferRequest(url: server.url, headers: [.init("Authorization", "Bearer k")]))
        #expect(try await recorder.end() == .complete)
        #expect(recorder.now.heads.first?.status == 302)
    }

    @Test(
        "a malformed request fails before it is sent", arguments: DriverKind.allCases,
        [
            TransferRequest(url: "file:///etc/passwd"), TransferRequest(url: "not a url"), TransferRequest(url: ""),
            TransferRequest(url: "http://127.0.0.1:1/", headers: [.init("A", "b\r\nEvil: 1")]),
            TransferRequest(url: "http://127.0.0.1:1/", headers: [.init("A\n", "b")]),
        ])
    func badRequest(_ driver: DriverKind, _ request: TransferRequest) async throws {
        let bench = try TransferBench(driver)
        guard case .failed(let failure) = try await bench.end(of: request) else { return #expect(Bool(false), "not a failure") }
        #expect(failure.kind == .request)
    }

    @Test("five hundred concurrent streams each get their own text", arguments: DriverKind.allCases)
    func many(_ driver: DriverKind) async throws {
        let bench = try TransferBench(driver)
        let server = try RawServer { connection in
            // Not closed after the first: a kept connection may carry the next request by then.
            while let request = connection.request() {
                let mark = request.split(separator: "\r\n\r\n").last.map(String.init) ?? ""
                connection.streamHead()
                for index in 0..<20 { connection.chunk("\(mark)-\(index) ") }
                connection.write("0\r\n\r\n")
            }
        }
        let recorders = (0..<500).map { index in
            bench.start(TransferRequest(url: server.url, body: Array("mark\(index)".utf8), connectTimeout: .seconds(20))).recorder
        }
        for (index, recorder) in recorders.enumerated() {
            let end = try await recorder.end()
            #expect(end == .complete)
            #expect(recorder.text == (0..<20).map { "mark\(index)-\($0) " }.joined())
        }
    }
}
