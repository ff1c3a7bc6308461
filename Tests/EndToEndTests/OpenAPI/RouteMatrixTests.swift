import Foundation
import Testing

/// Tests every route of the OpenAPI document, so that new routes are included.
@Suite("Every route", .paced)
struct RouteMatrixTests {
    private struct Route: Sendable {
        var method: String
        /// The path template, with `{name}` for each parameter.
        var path: String
        var isOpen: Bool
        /// The required role, `operator` or `creator`; nil: none.
        var role: String?
        var hasBody: Bool
    }

    private func routes(_ port: Int) async throws -> [Route] {
        let document = try await Browser(port: port).send("GET", "/openapi.json")
        let json = try JSONSerialization.jsonObject(with: Data(document.body)) as? [String: Any]
        let paths = try #require(json?["paths"] as? [String: [String: [String: Any]]])
        return paths.flatMap { path, operations in
            operations.map { method, operation in
                let role = (operation["description"] as? String)?.firstMatch(of: /role `([a-z]+)`/).map { String($0.1) }
                return Route(
                    method: method.uppercased(), path: path, isOpen: operation["security"] == nil, role: role,
                    hasBody: operation["requestBody"] != nil)
            }
        }.sorted { ($0.path, $0.method) < ($1.path, $1.method) }
    }

    /// The path with a value for each of its parameters.
    private func filled(_ path: String, _ value: String) -> String { path.replacing(/\{[a-z_]+\}/, with: value) }

    @Test("requires a token, unless it is declared open, and its role")
    func access() async throws {
        let testBed = try await TestBed.shared()
        let routes = try await routes(testBed.gateway.port)
        #expect(routes.count > 40 && routes.contains { $0.role == "operator" })
        for route in routes where !route.isOpen {
            let path = filled(route.path, UUID().uuidString.lowercased())
            #expect(route.path.hasPrefix("/api/v1/operator/") == (route.role == "operator"), "\(route.method) \(path)")
            let stranger = try await Browser(port: testBed.gateway.port).send(route.method, path, body: route.hasBody ? [] : nil)
            #expect(stranger.status == 401, "\(route.method) \(path)")
            guard let role = route.role else { continue }
            let others =
                [testBed.testUser()] + ["creator", "operator"].filter { $0 != role }.map { TestUser(gateway: testBed.gateway, role: $0) }
            for other in others {
                let answer = try await other.browser.send(route.method, path, body: route.hasBody ? [] : nil)
                #expect(answer.status == 403 && answer.errorCode == "AUTH_1003", "\(route.method) \(path)")
            }
        }
    }

    private static let bodies = [
        "", "{", "[]", "null", "{}", #"{"body":{"a":1},"version":-1,"reason":7,"title":{},"goals":{"a":[]},"granted":2}"#,
        #"{"title":"\u0000","goals":["\ud800"],"message":"","comment":"\u202e"}"#, String(repeating: "[", count: 100_000),
        #"{"spec":"chara_card_v2","data":{"name":"x","system_prompt":"a\u0000"}}"#,
        #"{"spec":"chara_card_v2","data":{"name":"x","tags":[\#(Array(repeating: "1e308", count: 4_000).joined(separator: ","))]}}"#,
        #"{"body":\#(String(repeating: "[", count: 20_000))\#(String(repeating: "]", count: 20_000))}"#,
    ]
    private static let values = [
        "x", "0", "-1", "..%2f..", "%00", "%F0%9F%92%9B", "00000000-0000-0000-0000-000000000000", "99999999999999999999",
    ]
    private static let queries = [
        "limit=0", "limit=x", "cursor=%00", "cursor=1_2", "cursor=-1", "updated_since=x", "since=%F0%9F%92%9B", "q=%00", "from=x&to=y",
        "id=1", "cursor=99999999999", "from=0000-01-01&to=0000-02-01", "to=0001-01-15", "tz=Mars", "after=-1", "dry_run=maybe",
        "confirmation=%00", "model=%00", "provider=a%00b", "cursor=99999999999999999999", "tz=GMT%2B3",
        "cursor=2026-11-23/00000000-0000-0000-0000-000000000000/00000000-0000-0000-0000-000000000000/1/99999999999",
    ]

    @Test("answers an invalid request with a documented error, never with 5xx", arguments: [nil, "creator", "operator"])
    func nonsense(role: String?) async throws {
        let testBed = try await TestBed.shared()
        let routes = try await routes(testBed.gateway.port).filter { !$0.isOpen && ($0.role == nil || $0.role == role) }
        for route in routes {
            // A new user for each route, so that none reaches the request limit.
            let user = role.map { TestUser(gateway: testBed.gateway, role: $0) } ?? testBed.testUser()
            var requests = Self.values.map { (filled(route.path, $0), route.hasBody ? Array("{}".utf8) : nil) }
            let path = filled(route.path, UUID().uuidString.lowercased())
            requests += Self.queries.map { ("\(path)?\($0)", route.hasBody ? Array("{}".utf8) : nil) }
            if route.hasBody { requests += Self.bodies.map { (path, Array($0.utf8)) } }
            for (path, body) in requests {
                let answer = try await user.browser.send(
                    route.method, path, body: body, headers: ["If-Match": "\"v99\"", "Accept": "application/json"])
                let sent = String(decoding: (body ?? []).prefix(80), as: UTF8.self)
                #expect(answer.status < 500, "\(route.method) \(path) \(sent): \(answer.text)")
                #expect(answer.status < 400 || answer.errorCode != nil, "\(route.method) \(path): \(answer.text)")
            }
        }
    }
}
