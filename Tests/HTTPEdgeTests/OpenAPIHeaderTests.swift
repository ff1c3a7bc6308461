import GatewayAPI
import HTTPTypes
import Hummingbird
import JSON
import Testing

@testable import HTTPEdge

@Suite("Headers of the OpenAPI document")
struct OpenAPIHeaderTests {
    private struct Routes: Feature {
        func register(on routes: RouteTable) {
            let group = routes.open("Test")
            let part = Schema.object([.init("id", .id)])
            group.get("/parts", .init("List", response: .list(part))) { _, _ in .init(status: .ok) }
            group.get("/parts/{id}", .init("Get", response: .data(part).versioned)) { _, _ in .init(status: .ok) }
            let change = RouteDescription("Change", parameters: [.ifMatch], response: .data(part).versioned)
            group.put("/parts/{id}", change) { _, _ in .init(status: .ok) }
            group.get("/page", .init("Get", response: .media("text/html", .text), hasNotFoundPage: true)) { _, _ in .init(status: .ok) }
        }
    }

    private func operation(_ path: String, _ method: String) async throws -> JSONValue? {
        try await EdgeFixture(Routes()).send(.get, "/openapi.json").json["paths"]?[path]?[method]
    }

    @Test("of a request are those that decide its answer", arguments: [("get", ["If-None-Match"]), ("put", ["If-Match"])])
    func request(method: String, expected: [String]) async throws {
        let operation = try #require(try await operation("/parts/{id}", method))
        let headers = (operation["parameters"]?.elements ?? []).filter { $0["in"]?.string == "header" }.compactMap { $0["name"]?.string }
        #expect(headers == expected)
        // Only with the header of the request there is an answer without a body.
        #expect((operation["responses"]?["304"] != nil) == expected.contains("If-None-Match"))
    }

    @Test("of an answer are its version, and of a list the next page")
    func answer() async throws {
        for (path, expected) in [("/parts/{id}", ["ETag"]), ("/parts", ["Link"])] {
            let headers = try await operation(path, "get")?["responses"]?["200"]?["headers"]?.members ?? []
            #expect(headers.map(\.key) == expected)
        }
    }

    @Test("a page for what does not exist stands beside the errors")
    func notFoundPage() async throws {
        let content = try #require(try await operation("/page", "get")?["responses"]?["404"]?["content"]?.members)
        #expect(content.map(\.key) == ["application/json", "application/problem+json", "text/event-stream", "text/html"])
        #expect(try await operation("/parts", "get")?["responses"]?["404"]?["$ref"]?.string == "#/components/responses/Error404")
    }
}
