import HTTPTypes
import Hummingbird
import Testing

@testable import HTTPEdge

@Suite("RequestTaskResponder")
struct RequestTaskResponderTests {
    private struct Refused: Error {}

    private static func ask(_ body: @escaping @Sendable () async throws -> Response) async throws -> Response {
        let inner = CallbackResponder<Int> { _, _ in try await body() }
        let head = HTTPRequest(method: .get, scheme: nil, authority: nil, path: "/")
        return try await RequestTaskResponder(inner).respond(to: Request(head: head, body: RequestBody(buffer: ByteBuffer())), context: 0)
    }

    @Test("the inner responder's response or error is returned unchanged")
    func passes() async throws {
        #expect(try await Self.ask { Response(status: .accepted) }.status == .accepted)
        await #expect(throws: Refused.self) { try await Self.ask { throw Refused() } }
    }

    @Test("cancelling the connection's task cancels the request's task and waits for it")
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
