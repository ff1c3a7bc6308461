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
        /// The role that the contract requires, `operator` or `creator`; nil: none.
        var role: String?
        /// What the document says of both.
        var declaredRole: String?
        var declaredOpen: Bool
        var hasBody: Bool
        /// The documented example of a JSON body.
        var example: [UInt8]?
        /// The names of query parameters, and which of them must be there.
        var queries: [String: Bool]
        /// The documented statuses.
        var statuses: Set<Int>

        var name: String { "\(method) \(path)" }
    }

    private func routes(_ port: Int) async throws -> [Route] {
        let document = try await Browser(port: port).send("GET", "/openapi.json")
        let json = try JSONSerialization.jsonObject(with: Data(document.body)) as? [String: Any]
        let paths = try #require(json?["paths"] as? [String: [String: [String: Any]]])
        return paths.flatMap { path, operations in
            operations.map { method, operation in
                let name = "\(method.uppercased()) \(path)"
                return Route(
                    method: method.uppercased(), path: path, isOpen: ContractRoutes.open.contains(name), role: ContractRoutes.role(name),
                    declaredRole: operation["x-role"] as? String, declaredOpen: operation["security"] == nil,
                    hasBody: operation["requestBody"] != nil, example: Self.example(operation), queries: Self.queries(operation),
                    statuses: Set((operation["responses"] as? [String: Any] ?? [:]).keys.compactMap { Int($0) }))
            }
        }.sorted { ($0.path, $0.method) < ($1.path, $1.method) }
    }

    private static func example(_ operation: [String: Any]) -> [UInt8]? {
        let content = (operation["requestBody"] as? [String: Any])?["content"] as? [String: Any]
        guard let example = (content?["application/json"] as? [String: Any])?["example"] else { return nil }
        return (try? JSONSerialization.data(withJSONObject: example)).map { Array($0) }
    }

    private static func queries(_ operation: [String: Any]) -> [String: Bool] {
        let parameters = (operation["parameters"] as? [[String: Any]] ?? []).filter { $0["in"] as? String == "query" }
        return Dictionary(
            parameters.compactMap { parameter in (parameter["name"] as? String).map { ($0, parameter["required"] as? Bool == true) } }
        ) { first, _ in first }
    }

    /// Sends a request that is valid but for the ids in its path: with the documented example as its body, and the queries that must be there.
    private func sendExample(_ route: Route, _ path: String, of user: TestUser) async throws -> Answer {
        let required = route.queries.filter(\.value).keys.sorted().map { "\($0)=1" }.joined(separator: "&")
        return try await user.browser.send(
            route.method, required.isEmpty ? path : "\(path)?\(required)",
            body: route.hasBody ? path.hasSuffix("/avatar") ? AvatarFiles.pixel : route.example ?? Array("{}".utf8) : nil,
            headers: ["If-Match": "*", "Accept": "application/json"])
    }

    /// The path with a value for each of its parameters.
    private func filled(_ path: String, _ value: String) -> String { path.replacing(/\{[a-z_]+\}/, with: value) }

    @Test("is in the contract's list, and the document says who may call it")
    func listed() async throws {
        let routes = try await routes(try await TestBed.shared().gateway.port)
        let names = Set(routes.map(\.name))
        let lists = [ContractRoutes.open, ContractRoutes.user, ContractRoutes.creator]
        #expect(names.filter { !$0.contains(" /api/v1/operator/") } == lists[0].union(lists[1]).union(lists[2]))
        #expect(names.isDisjoint(with: ContractRoutes.ofApps), "no app is configured here")
        #expect(lists.reduce(0) { $0 + $1.count } == Set(lists.joined()).count, "a route is in two lists")
        for route in routes {
            #expect(route.declaredOpen == route.isOpen && route.declaredRole == route.role, "\(route.name)")
        }
        #expect(routes.count { $0.role == "operator" } > 30)
    }

    @Test("requires a token, unless the contract says otherwise, and its role, but no other")
    func access() async throws {
        let testBed = try await TestBed.shared()
        for route in try await routes(testBed.gateway.port) where !route.isOpen {
            let path = filled(route.path, UUID().uuidString.lowercased())
            func send(_ browser: Browser) async throws -> Answer {
                try await browser.send(route.method, path, body: route.hasBody ? [] : nil, headers: ["Accept": "application/json"])
            }
            let stranger = try await send(Browser(port: testBed.gateway.port))
            #expect(stranger.status == 401, "\(route.name)")
            let users = [nil, "creator", "operator"].map { role in
                (role, role.map { TestUser(gateway: testBed.gateway, role: $0) } ?? testBed.testUser())
            }
            for (role, user) in users {
                let answer = try await send(user.browser)
                if route.role == nil || route.role == role {
                    #expect(answer.status != 401 && answer.status != 403, "\(route.name) as \(role ?? "user"): \(answer.status)")
                } else {
                    #expect(answer.status == 403 && answer.errorCode == "AUTH_1003", "\(route.name) as \(role ?? "user"): \(answer.status)")
                }
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

    /// Of `queries`, those that every route that has the parameter refuses.
    private static let refused = ["limit=0", "limit=x", "cursor=%00", "updated_since=x", "since=%F0%9F%92%9B", "after=-1"]

    /// The path with ids of a persona, a conversation or a turn that the user makes; nil when it has another parameter.
    private func ownPath(_ route: Route, of user: TestUser, role: String?) async throws -> String? {
        var path = route.path
        if path.hasPrefix("/api/v1/personas/{id}"), role == "creator" {
            path.replace("{id}", with: try #require(try await user.send("POST", "/api/v1/personas", ["name": "Ada"]).data["id"]))
        } else if path.hasPrefix("/api/v1/conversations/{id}") {
            path.replace("{id}", with: try #require(try await user.send("POST", "/api/v1/conversations", [:]).data["id"]))
        } else if path.contains("{turn_id}") {
            let start = try await user.chat("Hello \(sim(["words": 1]))").first("start")
            path.replace("{turn_id}", with: try #require(start?["turn_id"]))
        }
        return path.contains("{") ? nil : path
    }

    /// Each role is tested on its own routes only; handlers parse requests independently of the role.
    @Test("answers an invalid request with a documented error, never with 5xx", arguments: [nil, "creator", "operator"])
    func nonsense(role: String?) async throws {
        let testBed = try await TestBed.shared()
        let routes = try await routes(testBed.gateway.port).filter { route in
            // Only a creator has a persona for those of personas.
            let needsPersona = role == "creator" && route.path.hasPrefix("/api/v1/personas/{id}")
            return !route.isOpen && (route.role == role || (route.role == nil && needsPersona))
        }
        var refused = 0
        for route in routes {
            // A new user for each route, so that none reaches the request limit.
            let user = role.map { TestUser(gateway: testBed.gateway, role: $0) } ?? testBed.testUser()
            var requests = Self.values.map { (filled(route.path, $0), route.hasBody ? Array("{}".utf8) : nil) }
            let path = filled(route.path, UUID().uuidString.lowercased())
            requests += Self.queries.map { ("\(path)?\($0)", route.hasBody ? Array("{}".utf8) : nil) }
            if route.hasBody { requests += Self.bodies.map { (path, Array($0.utf8)) } }
            // With ids of the user's own, so that the queries are read.
            if route.method == "GET", let path = try await ownPath(route, of: user, role: role) {
                requests += Self.queries.map { ("\(path)?\($0)", nil) }
                for query in Self.refused where route.queries[String(query.prefix { $0 != "=" })] != nil {
                    let answer = try await user.browser.send("GET", "\(path)?\(query)", headers: ["Accept": "application/json"])
                    #expect(answer.status == 422 && answer.errorCode == "VAL_3001", "\(path)?\(query): \(answer.status)")
                    refused += 1
                }
            }
            for (path, body) in requests {
                let answer = try await user.browser.send(
                    route.method, path, body: body, headers: ["If-Match": "\"v99\"", "Accept": "application/json"])
                let sent = String(decoding: (body ?? []).prefix(80), as: UTF8.self)
                #expect(answer.status < 500, "\(route.method) \(path) \(sent): \(answer.text)")
                #expect(route.statuses.contains(answer.status), "\(route.method) \(path) \(sent): \(answer.status) is not documented")
                #expect(answer.status < 400 || answer.errorCode != nil, "\(route.method) \(path): \(answer.text)")
            }
        }
        // Few of the creators' GET routes have these parameters.
        #expect(refused > (role == "creator" ? 5 : 15), "\(refused)")
    }

    @Test("answers its owner with 404 for a deleted persona or conversation")
    func deletedIDs() async throws {
        let testBed = try await TestBed.shared()
        let owner = TestUser(gateway: testBed.gateway, role: "creator")
        let persona = try #require(try await owner.send("POST", "/api/v1/personas", ["name": "Ada"]).data["id"])
        let link = try #require(try await owner.send("POST", "/api/v1/personas/\(persona)/share-links", [:]).data["id"])
        #expect(try await owner.browser.send("PUT", "/api/v1/personas/\(persona)/avatar", body: AvatarFiles.pixel).status == 200)
        let conversation = try #require(try await owner.send("POST", "/api/v1/conversations", [:]).data["id"])
        let turn = try #require(
            try await owner.chat("Hello \(sim(["words": 1]))", ["conversation_id": conversation]).first("start")?["turn_id"])
        for path in ["/api/v1/personas/\(persona)", "/api/v1/conversations/\(conversation)"] {
            #expect(try await owner.send("DELETE", path).status == 200)
        }
        let ids = [
            "/api/v1/personas/{id}": persona, "/api/v1/conversations/{id}": conversation, "/functions/v1/chat-stream/{turn_id}": turn,
        ]
        var count = 0
        for route in try await routes(testBed.gateway.port) where route.role != "operator" {
            for (prefix, id) in ids where route.path.hasPrefix(prefix) {
                count += 1
                let own = route.path.replacing("{id}", with: id).replacing("{turn_id}", with: id).replacing("{link_id}", with: link)
                let path = filled(own, "1")
                let answer = try await sendExample(route, path, of: owner)
                #expect(answer.status == 404 && answer.errorCode == "BIZ_2004", "\(route.method) \(path): \(answer.status) \(answer.text)")
            }
        }
        #expect(count > 18)
    }

    @Test("that suspends an unknown user is 404, and the operator themselves 422; neither suspends the operator")
    func unknownUser() async throws {
        let operators = TestUser(gateway: try await TestBed.shared().gateway, role: "operator")
        let own = try await operators.send("POST", "/api/v1/operator/users/\(operators.id)/suspend", ["reason": "test"])
        #expect(own.status == 422 && own.errorCode == "VAL_3001" && own.error.object("details")["field"] == "id")
        for action in ["suspend", "unsuspend"] {
            let path = "/api/v1/operator/users/\(UUID().uuidString.lowercased())/\(action)"
            let answer = try await operators.send("POST", path, ["reason": "test"])
            #expect(answer.status == 404 && answer.errorCode == "BIZ_2004", "\(action): \(answer.status) \(answer.text)")
            #expect(try await operators.send("GET", "/api/v1/me").status == 200, "\(action)")
        }
    }

    @Test("shows nothing of another user's by their ids, and changes nothing", arguments: [nil, "creator", "operator"])
    func foreignIDs(role: String?) async throws {
        let testBed = try await TestBed.shared()
        let owner = TestUser(gateway: testBed.gateway, role: "creator")
        let canary = marker()
        let said = try await owner.chat("\(canary) \(sim(["words": 1]))")
        let start = try #require(said.first("start"))
        let conversation = try #require(start["conversation_id"])
        let persona = try #require(try await owner.send("POST", "/api/v1/personas", ["name": canary, "tone": canary]).data["id"])
        let draft = try #require(try await owner.send("GET", "/api/v1/personas/\(persona)").headers["etag"])
        let link = try await owner.send("POST", "/api/v1/personas/\(persona)/share-links", ["label": canary])
        _ = try await owner.send("PUT", "/api/v1/context-profile", ["goals": [canary]], headers: ["If-Match": "*"])
        let ids = [conversation, start["turn_id"], start["message_id"], persona, link.data["id"], owner.id].compactMap { $0 }
        #expect(ids.count == 6)

        for route in try await routes(testBed.gateway.port) where !route.isOpen && (route.role == nil || route.role == role) {
            // Operators may change accounts and personas.
            if route.role == "operator", route.method != "GET" { continue }
            let other = role.map { TestUser(gateway: testBed.gateway, role: $0) } ?? testBed.testUser()
            for id in route.path.contains("{") ? ids : [""] {
                let path = filled(route.path.replacing("{version}", with: "1"), id)
                let answer = try await sendExample(route, path, of: other)
                #expect(!answer.text.contains(canary), "\(route.method) \(path): \(answer.text)")
                #expect(
                    route.role == "operator" || id.isEmpty || answer.status == 404,
                    "\(route.method) \(path): \(answer.status) \(answer.text)")
            }
        }

        #expect(try await owner.send("GET", "/api/v1/conversations").list.map { $0["id"] } == [conversation])
        #expect(try await owner.send("GET", "/api/v1/conversations/\(conversation)/messages").list.count == 2)
        #expect(try await owner.send("GET", "/api/v1/personas/\(persona)").headers["etag"] == draft)
        #expect(try await owner.send("GET", "/api/v1/personas/\(persona)/share-links").list.map { $0["id"] } == [link.data["id"]])
        #expect(try await owner.send("GET", "/api/v1/context-profile").data.texts("goals") == [canary])
    }
}
