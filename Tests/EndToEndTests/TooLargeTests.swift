import Foundation
import Testing

@Suite("Oversized requests", .paced)
struct TooLargeTests {
    @Test("a body of 1 MB is 413, announced or not")
    func body() async throws {
        let testBed = try await TestBed.shared()
        let testUser = testBed.testUser()
        let large = Array(#"{"message":"hello","more":"\#(String(repeating: "x", count: 1 << 20))"}"#.utf8)
        let head = testUser.browser.head("POST", Browser.chatPath, bodyCount: large.count)
        let announced = try await Wire.run {
            let wire = try Wire(port: testBed.gateway.port)
            // The response may come, and the connection end, before everything was sent.
            try? wire.send(head + large)
            return try wire.readAnswer()
        }
        #expect(announced.status == 413 && announced.errorCode == "VAL_3005")

        let chunked = testUser.browser.head("POST", Browser.chatPath, bodyCount: nil, headers: ["Transfer-Encoding": "chunked"])
        let unannounced = try await Wire.run {
            let wire = try Wire(port: testBed.gateway.port)
            try wire.send(chunked)
            for start in stride(from: 0, to: large.count, by: 1 << 16) {
                let piece = large[start..<min(start + 1 << 16, large.count)]
                guard (try? wire.send(Array("\(String(piece.count, radix: 16))\r\n".utf8) + piece + Array("\r\n".utf8))) != nil else {
                    break
                }
            }
            try? wire.send("0\r\n\r\n")
            return try wire.readAnswer()
        }
        #expect(unannounced.status == 413 && unannounced.errorCode == "VAL_3005")
        // Without a token the error is 401.
        let stranger = try await Browser(port: testBed.gateway.port).send("POST", Browser.chatPath, body: large)
        #expect(stranger.status == 401 && stranger.errorCode == "AUTH_1002")
        expectDone(try await testUser.chat("Hello \(sim(["words": 2]))"))
    }

    @Test("a body of exactly 256 KiB is accepted")
    func largestBody() async throws {
        let testUser = try await TestBed.shared().testUser()
        let start = #"{"message":"hello \#(sim(["words": 2]).replacing("\"", with: "\\\""))","more":""#, end = "\"}"
        let body = start + String(repeating: "x", count: 256 << 10 - start.utf8.count - end.utf8.count) + end
        #expect(body.utf8.count == 256 << 10)
        #expect(try await testUser.browser.post(body).status == 200)
        #expect(try await testUser.browser.post(body + " ").status == 413)
    }

    /// Within the limits of both bodies, and beyond them.
    @Test("nested JSON of any size is refused: 413 beyond the limit of the body, otherwise VAL_3001", arguments: [250 << 10, 1 << 20])
    func nesting(count: Int) async throws {
        let testBed = try await TestBed.shared()
        let user = TestUser(gateway: testBed.gateway, role: "creator")
        let persona = try #require(try await user.send("POST", "/api/v1/personas", ["name": "Ada"]).data["id"])
        let open = String(repeating: "[", count: count)
        let closed = String(repeating: "[", count: count / 2) + String(repeating: "]", count: count / 2)
        for (method, path) in [("POST", Browser.chatPath), ("PUT", "/api/v1/personas/\(persona)/card")] {
            for text in [open, closed, #"{"message":\#(closed)}"#, #"{"message":\#(open)"#] {
                let head = user.browser.head(
                    method, path, bodyCount: text.utf8.count, headers: ["If-Match": "*", "Accept": "application/json"])
                let answer = try await Wire.run {
                    let wire = try Wire(port: testBed.gateway.port)
                    // The response may come, and the connection end, before everything was sent.
                    try? wire.send(head + Array(text.utf8))
                    return try wire.readAnswer()
                }
                let isTooLarge = count > 512 << 10
                #expect(
                    isTooLarge ? answer.status == 413 : [400, 422].contains(answer.status), "\(path) \(text.prefix(20)): \(answer.status)")
                #expect(answer.errorCode == (isTooLarge ? "VAL_3005" : "VAL_3001"), "\(path): \(answer.text)")
            }
        }
        expectDone(try await user.chat("Hello \(sim(["words": 2]))"))
    }

    @Test("a header of 64 KiB is 431, one of 20 KiB is accepted")
    func header() async throws {
        let testUser = try await TestBed.shared().testUser()
        let large = try await testUser.browser.send("GET", "/healthz", headers: ["X-Large": String(repeating: "x", count: 64 << 10)])
        #expect(large.status == 431 && large.errorCode == "VAL_3005" && large.error["action"] == "fix_input")
        let several = Dictionary(uniqueKeysWithValues: (0..<64).map { ("X-Large-\($0)", String(repeating: "x", count: 1 << 10)) })
        #expect(try await testUser.browser.send("GET", "/healthz", headers: several).status == 431)
        let long = try await testUser.browser.send("GET", "/healthz?" + String(repeating: "x", count: 64 << 10))
        #expect(long.status == 431 || long.status == 414, "\(long.status)")
        #expect(
            try await testUser.browser.send("GET", "/healthz", headers: ["X-Fair": String(repeating: "x", count: 20 << 10)]).status == 200)
    }

    @Test("a header of 300 KiB, or one without an end, does not affect other clients", arguments: [300 << 10, 8 << 20])
    func hugeHeader(count: Int) async throws {
        let testBed = try await TestBed.shared()
        let testUser = testBed.testUser()
        try await Wire.run {
            let wire = try Wire(port: testBed.gateway.port, timeout: 2)
            try wire.send("POST \(Browser.chatPath) HTTP/1.1\r\nX-Huge: ")
            let piece = [UInt8](repeating: UInt8(ascii: "x"), count: 1 << 16)
            for _ in 0...(count / piece.count) { guard (try? wire.send(piece)) != nil else { break } }
            // A client that continues sending may lose the response with the connection.
            if let answer = try? wire.readAnswer() {
                #expect(answer.status == 431 && answer.errorCode == "VAL_3005" && answer.headers["x-request-id"] != nil, "\(answer.text)")
            } else {
                #expect(count > 300 << 10, "no answer")
            }
        }
        #expect(testBed.gateway.program.isRunning)
        expectDone(try await testUser.chat("Hello \(sim(["words": 2]))"))
    }

    @Test(
        "a malformed head gets an ordinary error response",
        arguments: ["BREW /healthz HTTP/1.1", "GET /healthz HTTP/9.9", "GET"])
    func unreadable(line: String) async throws {
        let port = try await TestBed.shared().gateway.port
        let answer = try await Wire.run {
            let wire = try Wire(port: port, timeout: 5)
            try wire.send("\(line)\r\nHost: a\r\n\r\n")
            return try wire.readAnswer()
        }
        #expect((400..<500).contains(answer.status) && answer.errorCode?.hasPrefix("VAL_300") == true, "\(answer.status) \(answer.text)")
        #expect(
            answer.headers["x-request-id"] != nil && answer.headers["x-api-version"] == "1.0" && answer.headers["connection"] == "close")
    }

    @Test("input that is not HTTP does not affect other clients")
    func noHTTP() async throws {
        let testBed = try await TestBed.shared()
        let noise: [[UInt8]] = [
            Array("\r\n\r\n\r\n".utf8), Array("GET\r\n\r\n".utf8), Array("GET / HTTP/9.9\r\n\r\n".utf8), [0x16, 0x03, 0x01, 0x02, 0x00],
            (0..<4096).map { UInt8(truncatingIfNeeded: $0 &* 167) }, Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8),
            Array("POST \(Browser.chatPath) HTTP/1.1\r\nContent-Length: -1\r\n\r\n".utf8),
            Array("POST \(Browser.chatPath) HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n".utf8),
        ]
        for bytes in noise {
            try await Wire.run {
                let wire = try Wire(port: testBed.gateway.port, timeout: 1)
                try? wire.send(bytes)
                _ = try? wire.receive()
            }
        }
        #expect(testBed.gateway.program.isRunning)
        #expect(try await testBed.gateway.health() == 200)
    }
}
