import Foundation
import Testing

/// HTTP/1.x syntax (RFC 9112), sent over a raw socket.
@Suite("HTTP/1.x syntax", .paced)
struct HTTPSyntaxTests {
    private static func exchange(_ text: String, timeout: Int = 5) async throws -> (answer: Answer, statusLine: String, isClosed: Bool) {
        let port = try await TestBed.shared().gateway.port
        return try await Wire.run {
            let wire = try Wire(port: port, timeout: timeout)
            try wire.send(text)
            let line = String(decoding: try wire.receive(until: "\r\n"), as: UTF8.self)
            wire.putBack(Array(line.utf8))
            let answer = try wire.readAnswer()
            // The error is in the envelope, and the connection's last response.
            let isClosed = answer.headers["connection"] == "close" ? try wire.receive().isEmpty : false
            return (answer, line, isClosed)
        }
    }

    @Test(
        "a request of HTTP/1.0, which needs no Host, gets no chunks, and its connection ends",
        arguments: ["", "Connection: keep-alive\r\n"])
    func http10(fields: String) async throws {
        let plain = try await Self.exchange("GET /readyz HTTP/1.0\r\n\(fields)\r\n")
        #expect(plain.answer.status == 200 && plain.answer.headers["transfer-encoding"] == nil && plain.isClosed)
        let testUser = try await TestBed.shared().testUser()
        let body = String(decoding: try TestUser.body("Hello \(sim(["words": 30, "pace_ms": 40]))"), as: UTF8.self)
        let stream = try await Self.exchange(
            "POST \(Browser.chatPath) HTTP/1.0\r\n\(fields)Authorization: Bearer \(try #require(testUser.browser.token))\r\n"
                + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
        #expect(stream.answer.status == 200 && stream.answer.headers["transfer-encoding"] == nil && stream.isClosed)
        #expect(
            stream.answer.eventTypes == ["start", "token", "usage", "done"] && stream.answer.text.hasPrefix("id: 0\n"),
            "\(stream.answer.text)")
    }

    /// A head that is rejected, with the expected status.
    struct Rejected: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var text: String
        var status = 400
        var code = "VAL_3001"

        static let all = [
            Rejected(testDescription: "no Host", text: "GET /healthz HTTP/1.1\r\n\r\n"),
            Rejected(testDescription: "two Hosts", text: "GET /healthz HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n"),
            Rejected(testDescription: "no name in Host", text: "GET /healthz HTTP/1.1\r\nHost: a/b@c\r\n\r\n"),
            Rejected(
                testDescription: "gzip, chunked", text: post("Transfer-Encoding: gzip, chunked", "0\r\n\r\n"), status: 501),
            Rejected(testDescription: "chunked, gzip", text: post("Transfer-Encoding: chunked, gzip", "0\r\n\r\n")),
            Rejected(testDescription: "chunked twice", text: post("Transfer-Encoding: chunked, chunked", "0\r\n\r\n")),
            Rejected(testDescription: "chunked and a length", text: post("Content-Length: 5\r\nTransfer-Encoding: chunked", "0\r\n\r\n")),
            Rejected(testDescription: "a length and chunked", text: post("Transfer-Encoding: chunked\r\nContent-Length: 5", "0\r\n\r\n")),
            Rejected(
                testDescription: "chunked in HTTP/1.0", text: "POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
            Rejected(testDescription: "+5", text: post("Content-Length: +5", "hello")),
            Rejected(testDescription: "two lengths", text: post("Content-Length: 5\r\nContent-Length: 6", "hello!")),
            Rejected(testDescription: "a space before the colon", text: post("Content-Length : 5", "hello")),
            Rejected(testDescription: "a folded line", text: post("X-Folded: a\r\n b", "")),
            Rejected(testDescription: "a bare line feed", text: "GET /healthz HTTP/1.1\nHost: a\n\n"),
            Rejected(testDescription: "201 fields", text: post(fields(200), ""), status: 431, code: "VAL_3005"),
            Rejected(
                testDescription: "33 KiB", text: post("X: " + String(repeating: "x", count: 33 << 10), ""), status: 431, code: "VAL_3005"),
        ]

        static func post(_ fields: String, _ body: String) -> String {
            "POST \(Browser.chatPath) HTTP/1.1\r\nHost: a\r\n\(fields)\r\n\r\n\(body)"
        }

        static func fields(_ count: Int) -> String { (0..<count).map { "X-\($0): x" }.joined(separator: "\r\n") }
    }

    @Test("an ambiguous, unsupported or oversized request is rejected, and nothing after it is read", arguments: Rejected.all)
    func rejected(_ request: Rejected) async throws {
        let (answer, _, isClosed) = try await Self.exchange(request.text)
        #expect(answer.status == request.status && answer.errorCode == request.code, "\(answer.status) \(answer.text)")
        #expect(isClosed && answer.headers["x-request-id"] == answer.json.object("meta")["request_id"])
        #expect(answer.headers["content-type"] == "application/json; charset=utf-8")
    }

    @Test("200 fields are accepted, and an error has the requested form and request id")
    func fields() async throws {
        let most = try await Self.exchange("GET /healthz HTTP/1.1\r\nHost: a\r\n\(Rejected.fields(199))\r\n\r\n")
        #expect(most.answer.status == 200)
        let problem = try await Self.exchange(
            "GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\nAccept: application/problem+json\r\nX-Correlation-ID: mine\r\n\r\n")
        #expect(problem.answer.headers["content-type"] == "application/problem+json; charset=utf-8")
        #expect(problem.answer.headers["x-request-id"] == "mine" && problem.answer.json["title"] == "Bad Request")
        #expect(problem.statusLine == "HTTP/1.1 400 Bad Request\r\n")
    }

    @Test(
        "chunk extensions, leading zeros and trailers are ignored, up to a limit",
        arguments: [
            ("2;name=value\r\n[]\r\n0\r\n\r\n", 422), ("0000000002\r\n[]\r\n000\r\nX-Trailer: x\r\n\r\n", 422),
            ("2;" + String(repeating: "x", count: 4000) + "\r\n[]\r\n0\r\n\r\n", 422),
            ("2;" + String(repeating: "x", count: 200_000) + "\r\n[]\r\n0\r\n\r\n", 400),
            (String(repeating: "0", count: 200_000) + "2\r\n[]\r\n0\r\n\r\n", 400),
            ("2\r\n[]\r\n0\r\nX-Trailer: " + String(repeating: "x", count: 40_000) + "\r\n\r\n", 400),
            ("FFFFFFFFFFFFFFFFF\r\n[]", 400), ("-2\r\n[]", 400), ("2\r\n[]x\r\n", 400), ("\r\n", 400), ("0x2\r\n[]\r\n", 400),
        ])
    func chunks(body: String, status: Int) async throws {
        let token = try #require(try await TestBed.shared().testUser().browser.token)
        let (answer, _, isClosed) = try await Self.exchange(
            Rejected.post("Transfer-Encoding: chunked\r\nAuthorization: Bearer \(token)", body))
        #expect(answer.status == status, "\(answer.text)")
        #expect(isClosed == (status != 422) && answer.errorCode == "VAL_3001")
    }

    @Test("a fault after a pipelined request is answered after that request's response")
    func behind() async throws {
        let port = try await TestBed.shared().gateway.port
        try await Wire.run {
            let wire = try Wire(port: port, timeout: 5)
            try wire.send("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\nGET /healthz HTTP/1.1\r\n\r\nGET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try wire.readAnswer().status == 200)
            let refused = try wire.readAnswer()
            #expect(refused.status == 400 && refused.errorCode == "VAL_3001" && refused.headers["connection"] == "close")
            #expect(try wire.receive().isEmpty)
        }
    }
}

@Suite("Large and slow requests", .patient)
struct UnfinishedRequestTests {
    @Test("100 MB are rejected with 413 before they are read, and the connection ends")
    func large() async throws {
        let testBed = try await TestBed.shared()
        let testUser = testBed.testUser()
        for (fields, piece) in [("Content-Length: 100000000", 1 << 16), ("Transfer-Encoding: chunked", nil)] as [(String, Int?)] {
            let head =
                "POST \(Browser.chatPath) HTTP/1.1\r\nHost: a\r\n\(fields)\r\nAuthorization: Bearer \(testUser.browser.token ?? "")\r\n\r\n"
            let sent = try await Wire.run {
                let wire = try Wire(port: testBed.gateway.port, timeout: 5)
                try wire.send(head)
                var sent = 0
                let text = String(repeating: "x", count: piece ?? 1 << 15)
                let bytes = Array((piece == nil ? "8000\r\n\(text)\r\n" : text).utf8)
                // A client that sends everything before it reads.
                while sent < 100_000_000, (try? wire.send(bytes)) != nil { sent += bytes.count }
                let answer = try wire.readAnswer()
                #expect(answer.status == 413 && answer.errorCode == "VAL_3005" && answer.headers["connection"] == "close", "\(answer.text)")
                return sent
            }
            // The kernel's buffers, and what is discarded so that the response is not lost.
            #expect(sent < 20_000_000, "\(sent)")
        }
    }

    @Test("100 MB without a token are rejected with 401, and the connection ends")
    func stranger() async throws {
        let port = try await TestBed.shared().gateway.port
        try await Wire.run {
            let wire = try Wire(port: port, timeout: 5)
            try wire.send("POST \(Browser.chatPath) HTTP/1.1\r\nHost: a\r\nContent-Length: 100000000\r\n\r\n")
            let answer = try wire.readAnswer()
            #expect(answer.status == 401 && answer.headers["connection"] == "close")
            #expect(try wire.receive().isEmpty)
        }
    }

    @Test("a small body without a token is discarded, and the connection is kept")
    func smallBody() async throws {
        let port = try await TestBed.shared().gateway.port
        try await Wire.run {
            let wire = try Wire(port: port, timeout: 5)
            try wire.send("POST \(Browser.chatPath) HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\nabc")
            let answer = try wire.readAnswer()
            #expect(answer.status == 401 && answer.headers["connection"] == nil)
            try wire.send("defGET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try wire.readAnswer().status == 200)
        }
    }

    @Test(
        "a slow head gets 408 after 10 s, a slow body after 20 s, and the connection ends; a silent one is closed",
        arguments: [("GET /healthz HTTP/1.1\r\nHost: a\r\nX-Slow: ", 10), ("", 20), (nil, 10)] as [(String?, Int)])
    func slow(beginning: String?, seconds: Int) async throws {
        let testBed = try await TestBed.shared()
        let testUser = testBed.testUser()
        let body = testUser.browser.head("POST", Browser.chatPath, bodyCount: 100, headers: ["Accept": "text/event-stream"])
        try await Wire.run {
            let wire = try Wire(port: testBed.gateway.port, timeout: 1)
            let start = ContinuousClock.now
            if let beginning { try wire.send(beginning.isEmpty ? body : Array(beginning.utf8)) }
            var answered: [UInt8] = []
            while start.duration(to: .now) < .seconds(seconds + 5) {
                if beginning != nil { try wire.send("x") }
                if let bytes = try? wire.receive() {
                    answered = bytes
                    break
                }
            }
            let after = start.duration(to: .now)
            #expect(after > .seconds(seconds - 1) && after < .seconds(seconds + 4), "\(after)")
            guard beginning != nil else {
                #expect(answered.isEmpty)
                return
            }
            wire.putBack(answered)
            let answer = try wire.readAnswer()
            #expect(answer.status == 408 && answer.headers["connection"] == "close", "\(answer.status)")
            let error = answer.events.first?.fields ?? answer.error
            #expect(error["code"] == "VAL_3001" && error["action"] == "retry", "\(answer.text)")
            #expect((try? wire.receive())?.isEmpty ?? false)
        }
    }
}
