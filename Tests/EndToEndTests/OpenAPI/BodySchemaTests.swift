import Foundation
import Testing

/// Holds the schemas of bodies against what the routes read, so that no route can declare one body and read another.
@Suite("Bodies of every route", .paced)
struct BodySchemaTests {
    private struct Route {
        var method: String
        var path: String
        var role: String?
        var schema: [String: Any]
        var example: [String: Any]
    }

    /// What a schema does not say: a report has one of two ids, a version of this number does not exist, and a document has members of its own.
    private static let refused: Set<String> = ["persona_id absent", "persona_id null", "version maximum", "body.not_a_member unknown"]

    @Test("a body at a limit of its schema is read, and one beyond it is refused with the member's name")
    func limits() async throws {
        let testBed = try await TestBed.shared()
        let document = try await Browser(port: testBed.gateway.port).send("GET", "/openapi.json")
        let json = try #require(try JSONSerialization.jsonObject(with: Data(document.body)) as? [String: Any])
        let schemas = try #require((json["components"] as? [String: Any])?["schemas"] as? [String: Any])
        let routes = try routes(json)
        #expect(routes.count > 25)
        var (valid, invalid) = (0, 0)
        for route in routes {
            // A new user for each route, so that none reaches the request limit.
            let user = route.role.map { TestUser(gateway: testBed.gateway, role: $0) } ?? testBed.testUser()
            for variant in BodyVariants(of: route.schema, example: route.example, schemas: schemas).all {
                let answer = try await user.send(
                    route.method, route.path, variant.body,
                    headers: ["If-Match": "\"v99\"", "Accept": "application/json", "Content-Type": "application/json"])
                let name: Comment =
                    "\(route.method) \(route.path) \(variant.field) \(variant.change): \(answer.status) \(answer.text.prefix(400))"
                let details = answer.error.object("details")
                let fields = [details["field"]].compactMap { $0 } + answer.findingFields
                let isNamed = fields.contains { field in
                    field == variant.field || field.hasPrefix("\(variant.field)[") || field.hasPrefix("\(variant.field).")
                }
                if variant.isValid {
                    valid += 1
                    let isRefused = answer.errorCode == "VAL_3001" && isNamed
                    #expect(answer.status < 500 && answer.status != 400, name)
                    #expect(!isRefused || Self.refused.contains("\(variant.field) \(variant.change)"), name)
                } else {
                    invalid += 1
                    #expect(answer.status == 422 && isNamed, name)
                }
            }
        }
        #expect(valid > 150 && invalid > 200, "\(valid) accepted and \(invalid) refused bodies")
    }

    /// The routes with a JSON body, but for those of foreign protocols, whose schemas name only what has an effect.
    private func routes(_ document: [String: Any]) throws -> [Route] {
        let paths = try #require(document["paths"] as? [String: [String: [String: Any]]])
        return try paths.flatMap { path, operations in
            try operations.compactMap { method, operation -> Route? in
                let content = (operation["requestBody"] as? [String: Any])?["content"] as? [String: Any]
                guard let body = content?["application/json"] as? [String: Any], !path.hasPrefix("/v1/"),
                    !path.hasPrefix("/functions/v1/webhook-")
                else { return nil }
                let schema = try #require(body["schema"] as? [String: Any], "\(method) \(path)")
                let example = try #require(body["example"] as? [String: Any], "\(method) \(path) has no example")
                return Route(
                    method: method.uppercased(), path: filled(path, operation["parameters"] as? [[String: Any]] ?? []),
                    role: operation["x-role"] as? String, schema: schema, example: example)
            }
        }.sorted { ($0.path, $0.method) < ($1.path, $1.method) }
    }

    /// The path with a value for each parameter: the first of its choices, or a new id.
    private func filled(_ path: String, _ parameters: [[String: Any]]) -> String {
        path.replacing(/\{([a-z_]+)\}/) { match in
            let schema = parameters.first { $0["name"] as? String == String(match.1) }?["schema"] as? [String: Any]
            return (schema?["enum"] as? [String])?.first ?? UUID().uuidString.lowercased()
        }
    }
}
