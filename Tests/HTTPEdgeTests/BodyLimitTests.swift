import HTTPTypes
import Hummingbird
import Testing

@testable import HTTPEdge

@Suite("The limit of a request's body")
struct BodyLimitTests {
    private struct Routes: Feature {
        func register(on routes: RouteTable) {
            let group = routes.authenticated("Test")
            let description = RouteDescription("Test", response: .data(.any))
            group.get("/part", description) { _, context in .envelope(context) }
            group.post("/part", description) { _, context in .envelope(context) }
            group.delete("/part", description) { _, context in .envelope(context) }
            group.put("/part", RouteDescription("Test", uploads: ["image/png"], response: .data(.any))) { _, context in .envelope(context) }
        }
    }

    @Test(
        "applies to routes that read no body, to authenticated callers, and leaves uploads the limit of their handler",
        arguments: [(HTTPRequest.Method.get, 413), (.post, 413), (.delete, 413), (.put, 200)])
    func unreadBody(method: HTTPRequest.Method, status: Int) async throws {
        let edge = try EdgeFixture(Routes())
        func send(_ length: Int, token: String?) async throws -> EdgeAnswer {
            try await edge.send(method, "/part", token: token, headers: [.contentLength: String(length)])
        }
        let token = try edge.token()
        #expect(try await send(Request.maximumBodyBytes, token: token).status == 200)
        let larger = try await send(Request.maximumBodyBytes + 1, token: token)
        #expect(larger.status == status && larger.errorCode == (status == 413 ? "VAL_3005" : nil))
        #expect(larger.headers[.rateRemaining] == "7")
        #expect(try await send(Request.maximumBodyBytes + 1, token: nil).status == 401)
    }
}
