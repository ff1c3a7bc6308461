import GatewayAPI
import HTTPTypes
import Hummingbird
import JSON
import Testing

@testable import HTTPEdge

@Suite("Bodies of the OpenAPI document")
struct OpenAPIBodyTests {
    private struct Routes: Feature {
        func register(on routes: RouteTable) {
            let form = Schema.object([.init("token", .text)]).named("Form")
            routes.open("Test").post("/form", .init("Send", form: form, response: .noContent, failures: [401])) { _, _ in
                .init(status: .noContent)
            }
        }
    }

    private func document() async throws -> JSONValue { try await EdgeFixture(Routes()).send(.get, "/openapi.json").json }

    @Test("an instance that is not ready answers with the status that the document names, not with an envelope")
    func readiness() async throws {
        let responses = try #require(try await document()["paths"]?["/readyz"]?["get"]?["responses"])
        for (status, text) in [("200", "ok"), ("503", "unavailable")] {
            let content = try #require(responses[status]?["content"]?.members)
            #expect(content.map(\.key) == ["application/json"])
            #expect(content.first?.value["schema"]?["properties"]?["status"]?["enum"]?.elements == [.string(text)])
        }
        let answer = try await EdgeFixture(Routes()).send(.get, "/readyz")
        #expect(answer.status == 200 && answer.text == #"{"status":"ok"}"#)
    }

    @Test("a form is a body that may be absent; its answers are pages")
    func form() async throws {
        let document = try await document()
        let operation = try #require(document["paths"]?["/form"]?["post"])
        let body = try #require(operation["requestBody"])
        #expect(body["required"] == false && body["content"]?.members?.map(\.key) == ["application/x-www-form-urlencoded"])
        #expect(document["components"]?["schemas"]?["Form"]?["properties"]?["token"]?["type"]?.string == "string")
        #expect(operation["responses"]?["303"] != nil)
        #expect(operation["responses"]?["401"]?["content"]?.members?.last?.key == "text/html")
    }
}
