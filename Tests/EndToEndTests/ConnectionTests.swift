import Foundation
import Testing

@Suite("The connection under a stream", .paced)
struct ConnectionTests {
    private static let lastChunk = "\r\n0\r\n\r\n"

    @Test("is there for the next request after a short answer")
    func short() async throws {
        let stage = try await Stage.shared()
        let visitor = stage.visitor()
        let requests = try (0..<5).map { try visitor.request("Hello \($0) \(sim(["words": 2]))") }
        let answered = try await Wire.run {
            let wire = try Wire(port: stage.gateway.port)
            var answered = 0
            for request in requests {
                try wire.send(request)
                guard let stream = try? wire.receive(until: Self.lastChunk) else { break }
                #expect(String(decoding: stream, as: UTF8.self).contains(#""type":"done""#))
                answered += 1
            }
            return answered
        }
        // On a machine that is very busy one may take a second: what is told here is that connections are kept at all.
        #expect(answered >= 2)
    }

    @Test("ends with the last bytes of an answer that lasted, also when the client has spoken meanwhile", arguments: [false, true])
    func long(speaks: Bool) async throws {
        let stage = try await Stage.shared()
        let visitor = stage.visitor()
        let request = try visitor.request("Hello \(sim(["words": 40, "pace_ms": 50]))")
        try await Wire.run {
            let wire = try Wire(port: stage.gateway.port)
            try wire.send(request)
            _ = try wire.readHead()
            try wire.read(untilEvent: "token")
            if speaks { try wire.send(request) }
            let rest = String(decoding: try wire.receive(until: Self.lastChunk), as: UTF8.self)
            #expect(rest.contains(#""type":"done""#))
            #expect(try wire.receive().isEmpty)
        }
        #expect(try await stage.database.messages(of: visitor.id, role: "assistant").count == 1)
    }
}
