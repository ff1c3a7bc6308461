import Foundation
import Testing

@Suite("The connection of a stream", .paced)
struct ConnectionTests {
    private static let lastChunk = "\r\n0\r\n\r\n"

    @Test(
        "ends with the stream, as its head announces, whatever the client sends during it",
        arguments: [(2, 0), (30, 50)], [false, true])
    func ends(answer: (words: Int, pace: Int), speaks: Bool) async throws {
        let testBed = try await TestBed.shared()
        let testUser = testBed.testUser()
        let request = try testUser.request("Hello \(sim(["words": answer.words, "pace_ms": answer.pace]))")
        try await Wire.run {
            let wire = try Wire(port: testBed.gateway.port)
            try wire.send(request)
            let head = try wire.readHead()
            #expect(head.status == 200 && head.headers["connection"] == "close" && head.headers["transfer-encoding"] == "chunked")
            try wire.read(untilEvent: "token")
            if speaks { try? wire.send(request) }
            let rest = String(decoding: try wire.receive(until: Self.lastChunk), as: UTF8.self)
            #expect(rest.contains(#""type":"done""#))
            #expect(try wire.receive().isEmpty)
        }
        // A request sent after it must not have been executed, because its client gets no response (RFC 9112 §9.6).
        #expect(try await testBed.database.messages(of: testUser.id, role: "user").count == 1)
        #expect(try await testBed.database.messages(of: testUser.id, role: "assistant").count == 1)
    }

    @Test("a request that is pipelined after a stream is not executed")
    func pipelinedBehind() async throws {
        let testBed = try await TestBed.shared()
        let testUser = testBed.testUser()
        let request = try testUser.request("Hello \(sim(["words": 3]))")
        try await Wire.run {
            let wire = try Wire(port: testBed.gateway.port)
            try wire.send(request + request)
            _ = try wire.receive(until: Self.lastChunk)
            #expect((try? wire.receive())?.isEmpty ?? true)
        }
        #expect(try await testBed.database.messages(of: testUser.id, role: "user").count == 1)
    }

    @Test("other responses keep the connection, and pipelined requests are answered in order")
    func kept() async throws {
        let testBed = try await TestBed.shared()
        let browser = testBed.testUser().browser
        try await Wire.run {
            let wire = try Wire(port: testBed.gateway.port)
            for _ in 0..<3 {
                try wire.send(browser.head("GET", "/api/v1/conversations", bodyCount: nil))
                let list = try wire.readAnswer()
                #expect(list.status == 200 && list.headers["connection"] == nil)
                try wire.send(browser.head("POST", Browser.chatPath, bodyCount: 2) + Array("[]".utf8))
                #expect(try wire.readAnswer().status == 422)
            }
            try wire.send(
                browser.head("GET", "/healthz", bodyCount: nil) + browser.head("GET", "/nowhere", bodyCount: nil)
                    + browser.head("POST", Browser.chatPath, bodyCount: 1) + Array("x".utf8)
                    + browser.head("GET", "/healthz", bodyCount: nil))
            #expect(try (0..<4).map { _ in try wire.readAnswer().status } == [200, 404, 400, 200])
        }
    }

    @Test("a request with Connection: close gets a response with it", arguments: ["close", "Close", "keep-alive, close"])
    func asked(value: String) async throws {
        let testBed = try await TestBed.shared()
        try await Wire.run {
            let wire = try Wire(port: testBed.gateway.port)
            try wire.send("GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: \(value)\r\n\r\nGET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
            let answer = try wire.readAnswer()
            #expect(answer.status == 200 && answer.headers["connection"] == "close")
            #expect(try wire.receive().isEmpty)
        }
    }
}
