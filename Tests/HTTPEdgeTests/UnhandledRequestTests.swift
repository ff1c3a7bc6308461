import CoachCore
import GatewayAPI
import HTTPTypes
import Hummingbird
import Testing

@testable import HTTPEdge

@Suite("Requests that no handler takes")
struct UnhandledRequestTests {
    private struct Routes: Feature {
        func register(on routes: RouteTable) {
            let users = routes.authenticated("Test")
            users.get("/thing", RouteDescription("Test", response: .data(.any))) { _, context in .envelope(context) { $0.string("here") } }
            users.get("/stream", RouteDescription("Test", response: .events(.any))) { _, _ in Response(status: .ok) }
        }
    }

    private static let unhandled: [(method: HTTPRequest.Method, path: String, status: Int)] = [
        (.get, "/nothing", 404), (.put, "/thing", 405),
    ]

    @Test("count against their caller's limit and have its headers, and the limit's error when it is reached")
    func counted() async throws {
        for (method, path, status) in Self.unhandled {
            let edge = try EdgeFixture(Routes())
            let answer = try await edge.send(method, path, token: try edge.token())
            #expect(answer.status == status && answer.headers[.rateLimit] == "10" && answer.headers[.rateRemaining] == "7", "\(path)")
            #expect(edge.counter.calls == 1)
            edge.counter.state.withLock {
                $0.error = CountedRejection(rejection: Rejection(reason: .rateLimited, retryAfter: 9), rate: FakeCounter.rate)
            }
            let refused = try await edge.send(method, path, token: try edge.token())
            #expect(refused.errorCode == "BIZ_2010" && refused.headers[.retryAfter] == "9")
        }
    }

    @Test("are answered without a valid token and without the database, without the headers")
    func uncounted() async throws {
        for (method, path, status) in Self.unhandled {
            let edge = try EdgeFixture(Routes())
            for token in [nil, "x.y.z"] {
                let answer = try await edge.send(method, path, token: token)
                #expect(answer.status == status && answer.headers[.rateLimit] == nil, "\(path)")
            }
            #expect(edge.counter.calls == 0)
            edge.counter.state.withLock { $0.error = StoreFault.unavailable(retryAfter: 1) }
            #expect(try await edge.send(method, path, token: try edge.token()).status == status)
        }
    }

    @Test("HEAD is a GET without its body, but for a stream")
    func head() async throws {
        let edge = try EdgeFixture(Routes())
        let answer = try await edge.send(.head, "/thing", token: try edge.token())
        #expect(answer.status == 200 && answer.body.isEmpty && answer.headers[.rateRemaining] == "7")
        #expect(answer.headers[.contentType] == (try await edge.send(.get, "/thing", token: try edge.token()).headers[.contentType]))
        let stream = try await edge.send(.head, "/stream", token: try edge.token())
        #expect(stream.status == 405 && stream.headers[.allow] == "GET")
    }
}
