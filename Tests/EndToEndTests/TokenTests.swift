import Foundation
import Testing

@Suite("The access token", .paced)
struct TokenTests {
    /// A header that is rejected, with the error's code.
    struct Rejected: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var header: String?
        var code: String
        var status: Int { code == "AUTH_1003" ? 403 : 401 }

        static let all: [Rejected] = {
            let user = UUID().uuidString.lowercased()
            let good = Token(user: user)
            let now = Int(Date().timeIntervalSince1970)
            func bearer(_ token: Token) -> String { "Bearer " + token.text }
            var none = good, other = good, wrong = good, unknown = good
            none.header = ["alg": "none", "typ": "JWT"]
            other.header = ["alg": "RS256", "typ": "JWT"]
            wrong.secret = "another-secret-another-secret-another-secret"
            unknown.header = ["alg": "HS256", "typ": "JWT", "crit": ["exp"]]
            let parts = good.text.split(separator: ".")
            let foreign = Token(user: UUID().uuidString.lowercased()).text.split(separator: ".")
            return [
                Rejected("none at all", nil),
                Rejected("an empty one", "Bearer "),
                Rejected("garbage", "Bearer not.a.token"),
                Rejected("another scheme", "Basic dXNlcjpwYXNz"),
                Rejected("an expired one", bearer(good.with(["exp": now - 60])), code: "AUTH_1001"),
                Rejected("one without exp", bearer(good.with(["exp": nil]))),
                Rejected("one that is not valid yet", bearer(good.with(["nbf": now + 3_600]))),
                Rejected("one of another secret", bearer(wrong)),
                Rejected("one whose payload was exchanged", "Bearer \(parts[0]).\(foreign[1]).\(parts[2])"),
                Rejected("alg none, unsigned", "Bearer " + none.unsigned),
                Rejected("alg none, signed", bearer(none)),
                Rejected("alg RS256 signed with the secret", bearer(other)),
                Rejected("a critical extension", bearer(unknown)),
                Rejected("another audience", bearer(good.with(["aud": "others"]))),
                Rejected("no audience", bearer(good.with(["aud": [String]()]))),
                Rejected("a sub that is no UUID", bearer(good.with(["sub": "me"]))),
                Rejected("role anon", bearer(good.with(["role": "anon"])), code: "AUTH_1003"),
                Rejected("role service_role", bearer(good.with(["role": "service_role"])), code: "AUTH_1003"),
                Rejected("more than 8 KiB", bearer(good.with(["note": String(repeating: "x", count: 8192)]))),
            ]
        }()

        init(_ description: String, _ header: String?, code: String = "AUTH_1002") {
            testDescription = description
            self.header = header
            self.code = code
        }
    }

    @Test("is rejected in the envelope, as a problem document and as one error event", arguments: Rejected.all)
    func rejected(token: Rejected) async throws {
        let gateway = try await TestBed.shared().gateway
        let browser = Browser(port: gateway.port)
        func post(_ accept: String?) async throws -> Answer {
            var headers: [String: String] = [:]
            headers["Authorization"] = token.header
            headers["Accept"] = accept
            return try await browser.post(#"{"message":"hello"}"#, headers: headers)
        }

        let envelope = try await post(nil)
        #expect(envelope.status == token.status && envelope.headers["content-type"]?.hasPrefix("application/json") == true)
        #expect(envelope.json.flag("success") == false && envelope.json.isNull("data"))
        #expect(envelope.errorCode == token.code)
        #expect(envelope.error["action"] == (token.status == 401 ? "re_authenticate" : "go_back"))
        #expect(envelope.error["message"]?.isEmpty == false && envelope.error["user_message"]?.isEmpty == false)
        let meta = envelope.json.object("meta")
        #expect(meta["request_id"] == envelope.headers["x-request-id"] && meta["version"] == "1.0" && meta["timestamp"]?.last == "Z")

        let problem = try await post("application/problem+json")
        #expect(problem.status == token.status && problem.headers["content-type"]?.hasPrefix("application/problem+json") == true)
        #expect(problem.json["code"] == token.code && problem.json.number("status") == token.status && problem.json["title"] != nil)
        #expect(problem.json["user_message"] == envelope.error["user_message"])

        let stream = try await post("text/event-stream")
        #expect(stream.status == token.status && stream.headers["content-type"] == "text/event-stream; charset=utf-8")
        #expect(stream.eventTypes == ["error"])
        let event = try #require(stream.first("error"))
        #expect(event.isLast && event["code"] == token.code && event["user_message"] == envelope.error["user_message"])
        #expect(event.fields.names.isSuperset(of: ["retryable", "retry_after", "partial", "kept_bytes", "action", "message"]))
    }

    @Test("is accepted up to 30 s after its expiry, with an audience list, and with an apikey header")
    func accepted() async throws {
        let gateway = try await TestBed.shared().gateway
        let user = UUID().uuidString.lowercased()
        let now = Int(Date().timeIntervalSince1970)
        let token = Token(user: user).with(["exp": now - 5, "aud": ["others", "authenticated"]]).text
        let testUser = TestUser(gateway: gateway, id: user)
        let answer = try await testUser.chat(
            "Hello \(sim(["words": 2]))", headers: ["Authorization": "bearer \(token)", "apikey": "anything"])
        #expect(answer.status == 200 && answer.first("done") != nil)
    }

    @Test("creates the user's row on first use; a rejected one stores nothing")
    func firstSight() async throws {
        let testBed = try await TestBed.shared()
        let (welcome, refused) = (testBed.testUser(), UUID().uuidString.lowercased())
        _ = try await welcome.chat("Hello \(sim(["words": 2]))")
        _ = try await Browser(port: testBed.gateway.port, token: Token(user: refused).with(["role": "anon"]).text).post(
            #"{"message":"hi"}"#)
        let known = try await testBed.database.rows("select id from users where id in ('\(welcome.id)', '\(refused)')")
        #expect(known.map { $0["id"] } == [welcome.id])
    }
}
