import Foundation
import GatewayAPI
import TestSupport
import Testing

@Suite("The OpenAPI document", .paced)
struct OpenAPITests {
    private static let python = ProcessInfo.processInfo.environment["COACH_TEST_PYTHON"]

    @Test(
        "is valid by openapi-spec-validator and has every route",
        .enabled(if: python != nil, "COACH_TEST_PYTHON names no Python that has the package openapi-spec-validator"))
    func valid() async throws {
        let gateway = try await TestBed.shared().gateway
        let python = try #require(Self.python)
        let script = Program.checkout.appendingPathComponent("Tests/EndToEndTests/OpenAPI/openapi.py").path
        let run = try Program([script, "http://127.0.0.1:\(gateway.port)"], executable: URL(fileURLWithPath: python))
        #expect(try await run.exit(within: 60) == 0, "\(run.output)")
        for route in [
            "POST /functions/v1/chat-stream", "GET /functions/v1/chat-stream/{turn_id}", "PATCH /api/v1/conversations/{id}", "GET /readyz",
            "GET /openapi.json",
        ] {
            #expect(run.lines.contains(route), "\(route) in\n\(run.output)")
        }
        for link in [
            "post_api_v1_conversations get_api_v1_conversations_id", "post_api_v1_personas put_api_v1_personas_id",
            "post_api_v1_personas_id_share_links delete_api_v1_personas_id_share_links_link_id",
            "get_api_v1_conversations_id_messages get_functions_v1_chat_stream_turn_id",
        ] {
            #expect(run.lines.contains("link \(link)"), "\(link) in\n\(run.output)")
        }
    }

    @Test("says that operators' routes alone accept the cookie of a session")
    func session() async throws {
        let document = try await Browser(port: TestBed.shared().gateway.port).send("GET", "/openapi.json")
        let json = try JSONSerialization.jsonObject(with: Data(document.body)) as? [String: Any]
        let paths = try #require(json?["paths"] as? [String: [String: [String: Any]]])
        for (path, operation) in paths.flatMap({ path, operations in operations.values.map { (path, $0) } }) {
            let schemes = (operation["security"] as? [[String: Any]] ?? []).flatMap(\.keys)
            #expect(schemes.contains("session") == path.hasPrefix("/api/v1/operator/"), "\(path)")
        }
    }

    @Test("names both forms of an answer that is streamed when the request says so")
    func streams() async throws {
        let document = try await Browser(port: TestBed.shared().gateway.port).send("GET", "/openapi.json")
        let json = try JSONSerialization.jsonObject(with: Data(document.body)) as? [String: Any]
        let paths = try #require(json?["paths"] as? [String: [String: [String: Any]]])
        for (method, path) in [("post", "/v1/chat/completions"), ("post", "/v1/responses"), ("get", "/api/v1/operator/events")] {
            let responses = paths[path]?[method]?["responses"] as? [String: [String: Any]]
            let content = responses?["200"]?["content"] as? [String: Any]
            #expect(content?.keys.sorted() == ["application/json", "text/event-stream"], "\(path)")
        }
    }

    @Test("says that a picture is bytes, and that an operator may sign in with a form")
    func otherMedia() async throws {
        let document = try await Browser(port: TestBed.shared().gateway.port).send("GET", "/openapi.json")
        let json = try JSONSerialization.jsonObject(with: Data(document.body)) as? [String: Any]
        let paths = try #require(json?["paths"] as? [String: [String: [String: Any]]])
        for path in ["/api/v1/personas/{id}/avatar", "/p/{token}/avatar"] {
            let responses = paths[path]?["get"]?["responses"] as? [String: [String: Any]]
            let content = (responses?["200"]?["content"] as? [String: [String: [String: Any]]])?["image/*"]
            #expect(content?["schema"]?["format"] as? String == "binary", "\(path)")
        }
        let session = paths["/operator/session"]?["post"]?["requestBody"] as? [String: Any]
        let content = session?["content"] as? [String: [String: [String: String]]]
        #expect(content?["application/x-www-form-urlencoded"]?["schema"] == ["$ref": "#/components/schemas/SignInForm"])
    }

    @Test("names every route whose errors are events where JSON is accepted, too")
    func errorsOfStreams() async throws {
        let browser = Browser(port: try await TestBed.shared().gateway.port)
        let document = try await browser.send("GET", "/openapi.json")
        let json = try JSONSerialization.jsonObject(with: Data(document.body)) as? [String: Any]
        let paths = try #require(json?["paths"] as? [String: [String: [String: Any]]])
        var count = 0
        for (path, operations) in paths {
            for (method, operation) in operations {
                let responses = operation["responses"] as? [String: [String: Any]]
                let content = responses?["200"]?["content"] as? [String: Any]
                // Errors of OpenAI's protocols are JSON.
                guard content?["text/event-stream"] != nil, !path.hasPrefix("/v1/") else { continue }
                count += 1
                let filled = path.replacing(/\{[a-z_]+\}/, with: "00000000-0000-4000-8000-000000000001")
                let answer = try await browser.send(
                    method.uppercased(), filled, headers: ["Accept": "application/json, text/event-stream"])
                #expect(answer.status == 401 && answer.headers["content-type"] == "text/event-stream; charset=utf-8", "\(path)")
            }
        }
        #expect(count == 5)
        let other = try await browser.send("GET", "/api/v1/me", headers: ["Accept": "application/json, text/event-stream"])
        #expect(other.status == 401 && other.errorCode == "AUTH_1002")
    }

    @Test("has examples of OpenAI's bodies that are answered, and of a share link that can be made")
    func examples() async throws {
        let gateway = try await TestBed.shared().gateway
        let document = try await Browser(port: gateway.port).send("GET", "/openapi.json")
        let json = try JSONSerialization.jsonObject(with: Data(document.body)) as? [String: Any]
        let paths = try #require(json?["paths"] as? [String: [String: [String: Any]]])
        let user = TestUser(gateway: gateway, role: "creator")
        let persona = try #require(try await user.send("POST", "/api/v1/personas", ["name": "Ada"]).data["id"])
        for (path, status) in [("/v1/chat/completions", 200), ("/v1/responses", 200), ("/api/v1/personas/{id}/share-links", 201)] {
            let body = paths[path]?["post"]?["requestBody"] as? [String: Any]
            let content = (body?["content"] as? [String: [String: Any]])?["application/json"]
            let example = try JSONSerialization.data(withJSONObject: try #require(content?["example"]))
            let answer = try await user.browser.send("POST", path.replacing("{id}", with: persona), body: Array(example))
            #expect(answer.status == status, "\(path): \(answer.text)")
        }
    }

    @Test("names every error code and every event of a stream")
    func vocabulary() async throws {
        let document = try await Browser(port: TestBed.shared().gateway.port).send("GET", "/openapi.json")
        for code in ErrorCode.allCases { #expect(document.text.contains(code.rawValue), "\(code)") }
        let json = try JSONSerialization.jsonObject(with: Data(document.body)) as? [String: Any]
        let schemas = try #require((json?["components"] as? [String: Any])?["schemas"] as? [String: Any])
        let event = try JSONSerialization.data(withJSONObject: try #require(schemas["StreamEvent"]))
        for type in ["start", "safety", "token", "usage", "done", "error"] {
            #expect(String(decoding: event, as: UTF8.self).contains("\"\(type)\""), "\(type)")
        }
    }

    /// Tokens of new users with these roles.
    private func tokens(_ roles: [String?]) -> [String] {
        roles.map { role in
            let token = Token(user: UUID().uuidString.lowercased())
            return (role.map { token.with(["app_metadata": ["role": $0]]) } ?? token).text
        }
    }

    private func script(_ name: String, _ arguments: [String], within seconds: Double) async throws -> String {
        let python = try #require(Self.python)
        let script = Program.checkout.appendingPathComponent("Tests/EndToEndTests/OpenAPI/\(name)").path
        let run = try Program([script] + arguments, executable: URL(fileURLWithPath: python))
        #expect(try await run.exit(within: seconds) == 0, "\(run.output)")
        return run.output
    }

    @Test(
        "makes a Python client that compiles and runs the life of a persona",
        .enabled(if: python != nil, "COACH_TEST_PYTHON names no Python that has the package openapi-python-client"))
    func client() async throws {
        let gateway = try await TestBed.shared().gateway
        let output = try await script(
            "persona_life.py", ["http://127.0.0.1:\(gateway.port)"] + tokens(["creator", nil]), within: 120)
        #expect(output.contains("complete"))
    }

    /// COACH_TEST_CASES=5: about 8,000 cases of the three roles together, for an occasional run; fewer than 5,000 fail.
    private static let cases = ProcessInfo.processInfo.environment["COACH_TEST_CASES"] ?? "1"

    @Test(
        "holds for generated requests as user, creator and operator: no 5xx, no other status, no body against its schema",
        .enabled(if: python != nil, "COACH_TEST_PYTHON names no Python that has the package schemathesis"), .timeLimit(.minutes(60)))
    func cases() async throws {
        // One of its own: the limits are lifted.
        let (database, simulator) = (try await Database.ofItsOwn(), try await Simulator())
        let tokens = tokens([nil, "creator", "operator"])
        var senders = try await StoreSenders.shared.value.allStores
        // The header of the user's requests is also RevenueCat's, so that generated events are taken in.
        senders["REVENUECAT_WEBHOOK_HMAC_SECRET"] = nil
        senders["REVENUECAT_WEBHOOK_AUTH"] = "Bearer \(tokens[0])"
        let gateway = try await Gateway(database: database.gatewayURL, simulator: simulator.url, environment: senders)
        _ = try await script("cases.py", ["http://127.0.0.1:\(gateway.port)", Self.cases] + tokens, within: 3_600)
    }

    @Test("is also served as a page, without scripts and external resources")
    func page() async throws {
        let answer = try await Browser(port: TestBed.shared().gateway.port).send("GET", "/docs")
        #expect(answer.status == 200 && answer.headers["content-type"] == "text/html; charset=utf-8")
        #expect(answer.headers["content-security-policy"]?.contains("default-src 'none'") == true)
        #expect(answer.text.contains("<code>PATCH /api/v1/conversations/{id}</code>"))
        #expect(answer.text.contains("Body: visibility (link | listed)<br>"), "the values of a field")
        let text = answer.text.lowercased()
        for loading in ["<script", "<link", "src=", "srcset=", "@import", "url(", "://", "=\"//", "='//", "=//"] {
            #expect(!text.contains(loading), "\(loading)")
        }
    }
}
