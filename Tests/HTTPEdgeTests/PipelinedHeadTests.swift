import Logging
import NIOCore
import NIOEmbedded
import NIOHTTP1
import Testing

@testable import HTTPEdge

@Suite("A pipelined request's head")
struct PipelinedHeadTests {
    private let channel: EmbeddedChannel

    init() throws {
        let log = RequestLog(logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        channel = EmbeddedChannel()
        try channel.pipeline.syncOperations.addHandler(ConnectionHandler(limits: ConnectionLimits(), log: log, now: .now()))
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
    }

    private func receive(_ version: HTTPVersion = .http1_1, _ fields: [(String, String)] = [], ends: Bool = true) throws {
        let head = HTTPRequestHead(version: version, method: .POST, uri: "/", headers: HTTPHeaders([("host", "a")] + fields))
        try channel.writeInbound(HTTPServerRequestPart.head(head))
        if ends { try channel.writeInbound(HTTPServerRequestPart.end(nil)) }
    }

    private func answer() throws {
        try channel.writeOutbound(HTTPServerResponsePart.head(HTTPResponseHead(version: .http1_1, status: .ok)))
        try channel.writeOutbound(HTTPServerResponsePart.end(nil))
    }

    /// Status and version of the answers' heads so far.
    private func heads() throws -> [String] {
        var heads: [String] = []
        while let part = try channel.readOutbound(as: HTTPServerResponsePart.self) {
            if case .head(let head) = part { heads.append("\(head.status.code) \(head.version)") }
        }
        return heads
    }

    @Test("sends no 100 amid the answer to an earlier request, and one when it is alone")
    func expectation() throws {
        let expecting = [("content-length", "1"), ("expect", "100-continue")]
        try receive()
        try receive(.http1_1, expecting, ends: false)
        #expect(try heads().isEmpty)
        try answer()
        #expect(try heads() == ["200 HTTP/1.1"])
        let alone = try PipelinedHeadTests()
        try alone.receive(.http1_1, expecting, ends: false)
        #expect(try alone.heads() == ["100 HTTP/1.1"])
    }

    @Test("of HTTP/1.0 does not change the version of the answer to an earlier request")
    func version() throws {
        try receive()
        try receive(.http1_0)
        try answer()
        try answer()
        #expect(try heads() == ["200 HTTP/1.1", "200 HTTP/1.0"])
    }

    /// What another writer of the answer is told: whether it is chunked.
    private func detach() throws -> Bool { try channel.pipeline.syncOperations.handler(type: ConnectionHandler.self).detach() }

    @Test("of HTTP/1.0 does not change the coding of the answer to an earlier request")
    func coding() throws {
        try receive()
        try receive(.http1_0)
        #expect(try detach())
        let alone = try PipelinedHeadTests()
        try alone.receive(.http1_0)
        #expect(try alone.detach() == false)
    }
}
