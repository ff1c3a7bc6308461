import GatewayAPI
import HTTPTypes
import Hummingbird
import Testing

@testable import HTTPEdge

@Suite("Addresses of share links")
struct ShareLinkHeadersTests {
    private struct Pages: Feature {
        func register(on routes: RouteTable) {
            routes.open("Pages").get("/p/{token}", .init("Get a page", response: .media("text/html"))) { _, context in
                switch context.parameters.get("token") {
                case "away": throw GatewayError.databaseAway()
                case "limited": throw GatewayError(.rateLimited, "too many requests", retryAfter: 1)
                case "unknown": throw GatewayError.notFound
                default: return Response(status: .ok, headers: [.vary: "Accept"])
                }
            }
            routes.open("Pages").get("/pages", .init("Get the pages", response: .media("text/html"))) { _, _ in Response(status: .ok) }
        }
    }

    @Test(
        "stay out of referrers and search engines with every answer",
        arguments: [
            (HTTPRequest.Method.get, "/p/open", 200), (.get, "/p/unknown", 404), (.get, "/p/limited", 429), (.get, "/p/away", 503),
            (.post, "/p/open", 405), (.get, "/p/open/no/route", 404), (.get, "/p/open?x=1", 200),
        ])
    func headers(method: HTTPRequest.Method, path: String, status: Int) async throws {
        let answer = try await EdgeFixture(Pages()).send(method, path)
        #expect(answer.status == status)
        #expect(answer.headers[HTTPField.Name("Referrer-Policy")!] == "no-referrer")
        #expect(answer.headers[HTTPField.Name("X-Robots-Tag")!] == "noindex")
    }

    @Test("what an answer varies by is kept beside the origin")
    func vary() async throws {
        #expect(try await EdgeFixture(Pages()).send(.get, "/p/open").headers[.vary] == "Accept, Origin")
    }

    @Test("are those under /p/ alone")
    func others() async throws {
        let answer = try await EdgeFixture(Pages()).send(.get, "/pages")
        #expect(answer.status == 200 && answer.headers[HTTPField.Name("X-Robots-Tag")!] == nil)
    }
}
