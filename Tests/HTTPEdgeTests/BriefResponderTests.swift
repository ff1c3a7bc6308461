import HTTPTypes
import Hummingbird
import Testing

@testable import HTTPEdge

@Suite("A request's own task")
struct BriefResponderTests {
    private struct Refused: Error {}

    private static func ask(_ body: @escaping @Sendable () async throws -> Response) async throws -> Response {
        let inner = CallbackResponder<Int> { _, _ in try await body() }
        let head = HTTPRequest(method: .get, scheme: nil, authority: nil, path: "/")
        return try await BriefResponder(inner).respond(to: Request(head: head, body: RequestBody(buffer: ByteBuffer())), context: 0)
    }

    @Test("what the request's way returns or throws comes out as it was")
    func passes() async throws {
        #expect(try await Self.ask { Response(status: .accepted) }.status == .accepted)
        await #expect(throws: Refused.self) { try await Self.ask { throw Refused() } }
    }

    @Test("a connection's task that is cancelled cancels the request's, and waits for it")
    func cancels() async {
        let asking = Task {
            try await Self.ask {
                while !Task.isCancelled { await Task.yield() }
                throw Refused()
            }
        }
        asking.cancel()
        await #expect(throws: Refused.self) { try await asking.value }
    }
}
